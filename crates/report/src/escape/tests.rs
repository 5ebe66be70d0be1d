use super::*;

#[test]
fn a_path_stays_a_path() {
    assert_eq!(path("trials/01-1-a/x.html"), "trials/01-1-a/x.html");
    assert_eq!(path("javascript:alert(\"1\")/\u{e4}"), "javascript%3Aalert%28%221%22%29/%C3%A4");
}

#[test]
fn no_text_can_end_its_element() {
    assert_eq!(
        html("<b a='1' c=\"2\">&\u{0}"),
        "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\u{fffd}"
    );
    let json = serde_json::to_string("</script><!-- ]]> \u{2028} & \"").expect("a string");
    let safe = script(&json);
    assert!(!safe.contains(['<', '>', '&', '\u{2028}']));
    let back: String = serde_json::from_str(&safe).expect("still JSON");
    assert_eq!(back, "</script><!-- ]]> \u{2028} & \"");
}
