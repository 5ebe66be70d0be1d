use super::*;

/// sRGB of `#rrggbb`, 0 to 1, linear.
fn linear(color: &str) -> [f64; 3] {
    let part = |at: usize| {
        let part = u8::from_str_radix(&color[at..at + 2], 16).expect("two hex digits");
        let value = f64::from(part) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    [part(1), part(3), part(5)]
}

/// What a dichromat sees of a colour: Viénot, Brettel and Mollon (1999), in linear RGB.
fn seen(color: &str, eye: [[f64; 3]; 3]) -> [f64; 3] {
    let rgb = linear(color);
    eye.map(|row| row.iter().zip(rgb).map(|(weight, part)| weight * part).sum::<f64>())
}

const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const PROTAN: [[f64; 3]; 3] =
    [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]];
const DEUTAN: [[f64; 3]; 3] =
    [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]];

#[test]
fn downloads_differ_for_every_eye() {
    for eye in [NORMAL, PROTAN, DEUTAN] {
        for (place, one) in DOWNLOADS[..6].iter().enumerate() {
            for other in &DOWNLOADS[place + 1..6] {
                let (a, b) = (seen(one, eye), seen(other, eye));
                let far: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                assert!(far > 0.06, "{one} and {other} are {far:.3} apart");
            }
        }
    }
}

#[test]
fn no_download_has_the_colour_of_a_failure() {
    assert!(!DOWNLOADS.contains(&FAILED));
    assert!(
        include_str!("../../../assets/page.css")
            .contains(&format!("--failed: light-dark({FAILED}"))
    );
    assert!(
        include_str!("../../../assets/figure-colors.css").contains(&format!("--failed: {FAILED}"))
    );
}

#[test]
fn a_download_keeps_its_colour_and_another_connection_has_none_of_them() {
    let round = u32::try_from(DOWNLOADS.len()).expect("few colours");
    assert_eq!(download(0), download(round));
    assert!(!DOWNLOADS.contains(&holder(Holder::Fetch(1))));
}
