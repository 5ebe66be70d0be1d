use proptest::prelude::*;

use super::*;

#[test]
fn words_are_split_as_a_shell_quotes_them() {
    let cases: [(&str, &[&str]); 7] = [
        ("a b  c", &["a", "b", "c"]),
        ("a 'b  c' d", &["a", "b  c", "d"]),
        (r#"a "b \" \\ \n c""#, &["a", r#"b " \ \n c"#]),
        (r"a\ b \'", &["a b", "'"]),
        ("a'b'\"c\"d", &["abcd"]),
        ("a '' \"\"", &["a", "", ""]),
        ("", &[]),
    ];
    for (text, words) in cases {
        assert_eq!(split(text).expect("it is closed"), words, "{text}");
    }
    for open in ["'a", "\"a", "\"a\\", "a\\"] {
        assert!(split(open).is_err(), "{open}");
    }
}

#[test]
fn a_command_must_say_where_to_listen() {
    let refused = Exec::parse("proxy --port 80").expect_err("no {listen}").to_string();
    assert!(refused.contains("{listen}"), "{refused}");
    assert!(Exec::parse("{listen}").is_err(), "that would be the program");
    assert!(Exec::parse("   ").is_err());
    assert!(Exec::parse("proxy {listen}").is_ok());
}

proptest! {
    #[test]
    fn quoted_words_come_back(words in prop::collection::vec("[a-z'\"\\\\ {}]{0,8}", 1..6)) {
        let quoted: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        prop_assert_eq!(split(&quoted.join(" ")).expect("closed"), words);
    }

    #[test]
    fn no_text_is_too_much(text in ".*") {
        let _ = split(&text);
    }
}
