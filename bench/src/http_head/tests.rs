use super::*;

#[test]
fn heads_are_what_their_names_say_and_a_cut_one_has_not_ended() {
    let limit = HeadLimit::default();
    for (name, lines, length) in HEADS {
        let (asked, answered) = (head(REQUEST, lines, length), head(RESPONSE, lines, length));
        assert_eq!((asked.len(), answered.len()), (length, length), "{name}");
        let Ok(Parsed::Complete { head, .. }) = parse_request(asked.as_bytes(), limit) else {
            panic!("{asked}");
        };
        assert_eq!(head.headers.iter().count(), lines, "{name}");
        let Ok(Parsed::Complete { head, .. }) =
            parse_response(answered.as_bytes(), limit, &Method::Get)
        else {
            panic!("{answered}");
        };
        assert_eq!(head.headers.iter().count(), lines, "{name}");
        assert_eq!(parse_request(cut(&asked).as_bytes(), limit), Ok(Parsed::Partial));
    }
    assert_eq!(HEADS[2].2, limit.0);
}
