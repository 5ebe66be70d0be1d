//! What happened: where it is kept, who is shown it, and what it means to the phases.

use procfs::process::Process;
use records::{ProxyKind, Ready, Record, Requests, Role, RoleProcess, Visibility};

use super::Run;
use crate::children::Event;
use crate::phases::Input;
use crate::sampler::Watch;

impl Run<'_> {
    /// Files what happened, and says what it means to the phases, if anything.
    pub(super) fn file(&mut self, event: Event) -> anyhow::Result<Option<Input>> {
        Ok(match event {
            Event::Signal(signal) => Some(Input::Signal(signal)),
            Event::GoOn => Some(Input::GoOn),
            Event::Ended(role) => Some(Input::Ended(role, self.children.reap(role))),
            Event::Garbled(role, line) => {
                let shown: String = line.chars().take(120).collect();
                let what = format!("printed a line that is not a record: {shown:?}");
                Some(Input::Fault(role, what))
            }
            Event::Said(role, line) => {
                self.files.note(role, &line)?;
                None
            }
            Event::Sampled(records) => {
                records.iter().try_for_each(|record| self.files.file(record))?;
                None
            }
            Event::Record(role, record) => match *record {
                Record::Ready(ready) => Some(self.ready(role, ready)),
                Record::UnreadLines(unread) => {
                    let lines = &mut self.manifest.log_lines_unread;
                    *lines = lines.saturating_add(unread.lines);
                    None
                }
                Record::AnswersLost(lost) => {
                    let answers = &mut self.manifest.answers_lost;
                    *answers = answers.saturating_add(lost.requests);
                    None
                }
                record => {
                    self.files.file(&record)?;
                    Some(Input::Record(Box::new(record)))
                }
            },
        })
    }

    /// A role is up, and said how.
    fn ready(&mut self, role: Role, ready: Ready) -> Input {
        let its = |process: &&mut RoleProcess| process.pid == ready.pid;
        if let Some(process) = self.manifest.processes.iter_mut().rev().find(its) {
            process.effective = ready.effective;
        }
        if matches!(role, Role::Origin | Role::Proxy) {
            let Some(addr) = ready.listen else {
                return Input::Fault(role, "did not say where it listens".to_owned());
            };
            self.listen.insert(role, addr);
            self.watch(Watch::Listening(role, addr));
            if self.plan.trial.arm.server.kind == ProxyKind::Direct {
                self.listen.insert(Role::Proxy, addr);
            }
        }
        if role != Role::Proxy {
            return Input::Ready(role);
        }
        let workers = ready.worker_tids;
        self.manifest.workers = u32::try_from(workers.len()).ok().filter(|count| *count > 0);
        self.manifest.listeners = ready.listeners;
        self.manifest.program = ready.program;
        self.manifest.visibility = ready.visibility;
        let requests = may_wait(ready.visibility, &workers);
        self.watch(Watch::Workers(workers));
        Input::ProxyReady(ready.visibility, self.manifest.workers, requests)
    }
}

/// Whether downloads may wait with their requests until they are placed: not where it is known only with the
/// request which worker accepted a connection. From outside, a thread that accepts is not told from one
/// that will serve.
fn may_wait(visibility: Visibility, workers: &[i32]) -> Requests {
    let process = |tid: &i32| Process::new(*tid).and_then(|process| process.status());
    let are_processes = workers.iter().all(|tid| process(tid).is_ok_and(|s| s.tgid == *tid));
    let traced = visibility == Visibility::Traced && !are_processes;
    if traced { Requests::AtOnce } else { Requests::Held }
}
