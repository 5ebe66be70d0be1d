//! Names of addresses, by the symbols of files, perf maps and the kernel.

use std::path::Path;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use blazesym::{MaybeDefault, Pid};

use crate::stacks::{Frame, Module};

/// What was read of files stays until this is dropped.
#[derive(Default)]
pub(crate) struct Symbols(Symbolizer);

impl Symbols {
    /// Functions of the kernel; none where this user may not see its addresses.
    pub(crate) fn kernel(&self, addresses: &[u64]) -> Vec<Frame> {
        let source = Kernel { vmlinux: MaybeDefault::None, debug_syms: false, ..Kernel::default() };
        let name = |symbol: &Symbolized<'_>| {
            let function = symbol.as_sym()?.name.to_string();
            Some(Frame { function, module: Module::Kernel })
        };
        let named = self.named(&Source::Kernel(source), addresses);
        named.iter().filter_map(|(_, symbol)| name(symbol)).collect()
    }

    /// Functions of a process; none where this user may not see its files, or it has ended.
    pub(crate) fn process(&self, pid: u32, addresses: &[u64]) -> Vec<Frame> {
        // Files by the kernel's own links to them are right in every mount namespace, and need
        // CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE (proc_pid_map_files(5)); by their paths, neither.
        let named = [true, false].into_iter().find_map(|map_files| {
            let process = Process { debug_syms: false, map_files, ..Process::new(Pid::from(pid)) };
            let named = self.named(&Source::Process(process), addresses);
            named.iter().any(|(_, symbol)| symbol.as_sym().is_some()).then_some(named)
        });
        named.unwrap_or_default().iter().map(frame).collect()
    }

    fn named(&self, source: &Source<'_>, addresses: &[u64]) -> Vec<(u64, Symbolized<'_>)> {
        if addresses.is_empty() {
            return Vec::new();
        }
        let named = self.0.symbolize(source, Input::AbsAddr(addresses)).unwrap_or_default();
        addresses.iter().copied().zip(named).collect()
    }
}

fn frame((address, symbol): &(u64, Symbolized<'_>)) -> Frame {
    let Some(symbol) = symbol.as_sym() else {
        return Frame { function: format!("{address:#x}"), module: Module::Unknown };
    };
    // Only symbols of a perf map have no file.
    let module = symbol.module.as_ref().map_or(Module::Generated, |module| {
        let path = Path::new(&**module);
        let name = path.file_name().unwrap_or(path.as_os_str());
        Module::File(name.to_string_lossy().into_owned())
    });
    Frame { function: symbol.name.to_string(), module }
}
