//! Tests that colours contrast with the background and can be distinguished, even with colour blindness.

use charts::{
    Tone, assets,
    palette::{CATEGORIES, DARK, HEAT_LEVELS, LIGHT},
};

type Rgb = [f64; 3];

/// Linear RGB of a colour `#rrggbb`, by IEC 61966-2-1.
fn linear(colour: &str) -> Rgb {
    [1, 3, 5].map(|at| {
        let it =
            f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("the palette has hexadecimal digits")) / 255.0;
        if it <= 0.040_45 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) }
    })
}

/// The contrast ratio of WCAG 2.2.
fn contrast(a: &str, b: &str) -> f64 {
    let luminance =
        |it: &str| linear(it).iter().zip([0.2126, 0.7152, 0.0722]).map(|(it, weight)| it * weight).sum::<f64>();
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

fn times(matrix: &[Rgb; 3], it: Rgb) -> Rgb {
    matrix.map(|row| row.iter().zip(it).map(|(a, b)| a * b).sum())
}

/// Matrices for full colour vision, protanopia, deuteranopia and tritanopia: Machado, Oliveira and Fernandes, "A physiologically-based model for
/// simulation of color vision deficiency" (2009), severity 1.0.
const VISIONS: [(&str, [Rgb; 3]); 4] = [
    ("full", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    ),
    (
        "deuteranopia",
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    ),
    (
        "tritanopia",
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ),
];

/// Converts linear RGB to Oklab: Ottosson, "A perceptual color space for image processing" (2020).
fn oklab(it: Rgb) -> Rgb {
    let cones = times(
        &[
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ],
        it.map(|it| it.max(0.0)),
    );
    times(
        &[
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ],
        cones.map(f64::cbrt),
    )
}

fn distance(a: &str, b: &str, vision: &[Rgb; 3]) -> f64 {
    let seen = |it: &str| oklab(times(vision, linear(it)));
    seen(a).iter().zip(seen(b)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn check_apart(colours: &[&str], least: f64) {
    for (vision, matrix) in &VISIONS {
        for (index, a) in colours.iter().enumerate() {
            for b in &colours[index + 1..] {
                let found = distance(a, b, matrix);
                assert!(found >= least, "{a} and {b} are {found:.3} apart for {vision}");
            }
        }
    }
}

/// Checks colours that appear next to each other in a figure. For comparison: black and white have the distance 1.
#[test]
fn colours_of_one_figure_are_told_apart_with_each_vision() {
    for theme in [LIGHT, DARK] {
        check_apart(&theme.categories, 0.08);
        check_apart(&[theme.main, theme.categories[1], theme.quiet], 0.09);
        check_apart(&[theme.main, theme.quiet, theme.bad], 0.07);
    }
}

#[test]
fn lines_are_seen_and_texts_are_read_on_the_background() {
    let tones = [Tone::Main, Tone::Plan, Tone::Good, Tone::Bad, Tone::Doubt, Tone::Quiet];
    for theme in [LIGHT, DARK] {
        for tone in tones.into_iter().chain((0..8).map(Tone::Category)) {
            let found = contrast(theme.tone(tone), theme.background);
            assert!(found >= 3.0, "{tone:?}: {found:.2}");
        }
        for colour in [theme.text, theme.muted] {
            let found = contrast(colour, theme.background);
            assert!(found >= 4.5, "{colour}: {found:.2}");
        }
    }
}

#[test]
fn more_values_in_a_cell_stand_out_more_from_the_background() {
    for theme in [LIGHT, DARK] {
        let contrasts = theme.heat.map(|it| contrast(it, theme.background));
        assert!(contrasts.windows(2).all(|pair| pair[1] > pair[0] * 1.15), "{contrasts:?}");
    }
}

#[test]
fn the_style_of_a_page_has_the_colours_of_the_palette() {
    let style = assets::style();
    let check = |name: &str, light: &str, dark: &str| {
        let variable = format!("--chart-{name}: light-dark({light}, {dark});");
        assert_eq!(style.matches(&variable).count(), 1, "{variable} in {style}");
    };
    check("background", LIGHT.background, DARK.background);
    check("text", LIGHT.text, DARK.text);
    check("muted", LIGHT.muted, DARK.muted);
    check("axis", LIGHT.axis, DARK.axis);
    check("grid", LIGHT.grid, DARK.grid);
    let tones = [Tone::Main, Tone::Plan, Tone::Good, Tone::Bad, Tone::Doubt, Tone::Quiet];
    for (name, tone) in ["main", "plan", "good", "bad", "doubt", "quiet"].into_iter().zip(tones) {
        check(name, LIGHT.tone(tone), DARK.tone(tone));
    }
    for index in 0..CATEGORIES {
        check(&index.to_string(), LIGHT.categories[index], DARK.categories[index]);
    }
    for level in 0..HEAT_LEVELS {
        check(&format!("heat{level}"), LIGHT.heat[level], DARK.heat[level]);
    }
}
