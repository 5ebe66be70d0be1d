//! What reaches the loop from outside its sockets: signals, and orders on standard input. Each is
//! waited for by a thread of its own, which does nothing else.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use mio::Waker;
use net::role;
use net::stop::{self, Next};
use records::{Role, SlowOrder};

/// Something to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Carry out an order.
    Obey(SlowOrder),
    /// End every download and the process.
    Stop,
}

/// Listens for signals, and if `orders` is set for orders, and wakes the loop for each.
///
/// # Errors
/// A handler or a thread could not be made.
pub(crate) fn listen(waker: Arc<Waker>, orders: Orders) -> io::Result<Receiver<Command>> {
    let (sender, commands) = channel();
    if orders == Orders::OnStdin {
        let (sender, waker) = (sender.clone(), Arc::clone(&waker));
        let name = role::thread_name(Role::Slow, "orders");
        thread::Builder::new().name(name).spawn(move || read_orders(&sender, &waker))?;
    }
    stop::on_signal(move |_| {
        tell(&sender, &waker, Command::Stop);
        Next::Done
    })?;
    Ok(commands)
}

/// Where orders come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// Nowhere.
    None,
    /// Standard input.
    OnStdin,
}

/// Until end of file, which only means that no more orders come.
fn read_orders(sender: &Sender<Command>, waker: &Waker) {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(order) => tell(sender, waker, Command::Obey(order)),
            Err(error) => complain(&format!("ignored {line:?}, which is no order: {error}")),
        }
    }
}

/// A loop that has ended hears nothing more, and needs nothing more.
fn tell(sender: &Sender<Command>, waker: &Waker, command: Command) {
    if sender.send(command).is_ok() {
        let _ = waker.wake();
    }
}

/// A message to people.
#[expect(clippy::print_stderr, reason = "a role's log is its standard error")]
pub(crate) fn complain(message: &str) {
    eprintln!("slow-client: {message}");
}
