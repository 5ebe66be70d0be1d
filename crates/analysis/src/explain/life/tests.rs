use crate::explain::Context;
use crate::tests::scene::Scene;

use super::*;

/// The spells of a fetch with these changes (before those, each of its milestones comes 100 ms after
/// the one before): which, and until when in ms.
fn spells(changes: &str) -> String {
    let (changes, beside) = changes.split_once(';').unwrap_or((changes, ""));
    let time = changes.split(' ').find(|word| word.contains("..")).unwrap_or("0..700");
    let changes = changes.replace(time, "");
    let scene = Scene::of(&format!(
        "fetch 0 body {time} {changes} started=100 connected=200 accepted=300 request=400 head=500 \
         closed=600 outcome=ok; {beside}"
    ));
    let context = Context::of(&scene.run.records);
    let (fetch, connection) = (&scene.run.records.fetches[0], context.join.fetch(0));
    let session = connection.and_then(|connection| connection.session);
    let answered = session.and_then(|session| context.answer(session));
    let life = Life::of(fetch, connection, answered);
    let end = fetch.intended_ns + fetch.response_us.as_duration();
    assert_eq!(life.whole, Window::new(fetch.intended_ns, end), "{changes}");
    let told = life.spells.into_iter().map(|(window, hands)| {
        let name = serde_json::to_value(hands).expect("a word");
        let until = window.end.since(fetch.intended_ns).as_millis();
        format!("{} {until}", name.as_str().expect("a word"))
    });
    told.collect::<Vec<_>>().join(", ")
}

#[test]
fn lives() {
    let rows = [
        ("a whole life", ""),
        ("given up in its handshake", "0..150"),
        ("given up in the queue", "0..250"),
        ("while it asked", "0..350"),
        ("before the head", "0..450"),
        ("in the body", "0..550"),
        (
            "a worker that is held accepts after its client gave up",
            "accepted=900 request=- head=- closed=901",
        ),
        ("never accepted", "accepted=- closed=-"),
        ("no handshake", "connected=- accepted=- closed=- outcome=timeout_connect"),
        ("refused", "connected=- accepted=- closed=- outcome=refused"),
        ("not tried", "connected=- accepted=- closed=- outcome=local_error"),
        ("the worker knows of the handshake before the client", "accepted=150"),
        ("the client never heard of it", "connected=-"),
        ("a session that did not end tells nothing", "closed=-"),
        ("no head was reached", "head=-"),
        ("no request was whole", "request=- head=-"),
        // A session is over when it is closed, whatever it says of later times.
        ("a head after the end", "head=650"),
        ("a request after the end", "request=650"),
        ("the origin tells when it answered", "; dialled 420; origin 430 480"),
        ("it never did", "head=-; dialled 420; origin 430 -"),
        ("closed before all", "closed=250"),
        ("a fetch that took no time", "100..100 started=100"),
    ];
    let row = |(what, changes): (&str, &str)| format!("{what}: {}\n", spells(changes));
    insta::assert_snapshot!(rows.map(row).concat());
}
