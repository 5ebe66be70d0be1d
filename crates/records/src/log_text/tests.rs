use super::*;

#[test]
fn seconds_have_three_digits_after_the_point() {
    let text = |ms| LogSeconds(ms).to_string();
    assert_eq!(text(Some(0)), "0.000");
    assert_eq!(text(Some(1_004)), "1.004");
    assert_eq!(text(Some(1_795_244_129_132)), "1795244129.132");
    assert_eq!(text(None), "-");
}

#[test]
fn no_request_ends_its_field_or_its_line() {
    let text = LogEscaped("GET /\"\\\n\u{7f}\u{e9} HTTP/1.1").to_string();
    assert_eq!(text, r"GET /\x22\x5C\x0A\x7F\xC3\xA9 HTTP/1.1");
}
