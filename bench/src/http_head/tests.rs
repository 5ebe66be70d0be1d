use super::*;

fn request_lines(head: &str) -> usize {
    match parse_request(head.as_bytes(), HeadLimit::default()) {
        Ok(Parsed::Complete { head, .. }) => head.headers.iter().count(),
        other => panic!("{other:?}"),
    }
}

fn response_lines(head: &str) -> usize {
    match parse_response(head.as_bytes(), HeadLimit::default(), &Method::Get) {
        Ok(Parsed::Complete { head, .. }) => head.headers.iter().count(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn heads_have_as_many_lines_as_their_names_say() {
    assert_eq!(request_lines(CURL_REQUEST), 3);
    assert_eq!(request_lines(BROWSER_REQUEST), 20);
    assert_eq!(response_lines(PLAIN_RESPONSE), 3);
    assert_eq!(response_lines(SITE_RESPONSE), 20);
}

#[test]
fn long_heads_are_whole_and_just_fit() {
    let (request, response) = (up_to_the_limit(CURL_REQUEST), up_to_the_limit(PLAIN_RESPONSE));
    assert_eq!((request.len(), response.len()), (8 * 1024, 8 * 1024));
    assert_eq!(request_lines(&request), 3 + LONG_LINES);
    assert_eq!(response_lines(&response), 3 + LONG_LINES);
}

#[test]
fn a_cut_head_has_not_ended() {
    let limit = HeadLimit::default();
    assert_eq!(parse_request(cut(BROWSER_REQUEST).as_bytes(), limit), Ok(Parsed::Partial));
    let response = parse_response(cut(SITE_RESPONSE).as_bytes(), limit, &Method::Get);
    assert_eq!(response, Ok(Parsed::Partial));
}
