use super::*;
use testkit::connect;

fn ask(addr: SocketAddr, request: &str) -> String {
    let mut stream = connect(addr);
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn a_scraper_is_answered_each_time_anew() {
    let mut scrapes = 0;
    let render = move || {
        scrapes += 1;
        (scrapes < 3).then(|| format!("scrape {scrapes}\n# EOF\n"))
    };
    let addr = serve("127.0.0.1:0".parse().expect("an address"), render).expect("a free port");
    let first = ask(addr, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(first.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"));
    assert!(first.contains("Content-Length: 15\r\n"), "{first}");
    assert!(first.ends_with("\r\n\r\nscrape 1\n# EOF\n"), "{first}");
    assert!(ask(addr, "GET /else HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask(addr, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(ask(addr, &"x".repeat(REQUEST)).starts_with("HTTP/1.1 405 "));
    assert!(ask(addr, "GET / HTTP/1.1\r\n\r\n").contains("scrape 2\n"));
    // Nobody is there any more to tell: the door is shut.
    assert_eq!(ask(addr, "GET /metrics HTTP/1.1\r\n\r\n"), "");
}
