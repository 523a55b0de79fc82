//! The subjects of MMLU and their domains. Pure.
//!
//! Source: `categories.py` of the authors' repository (hendrycks/test). The table of lm-evaluation-harness differs only in anatomy, which it counts
//! as STEM.

use serde::Serialize;

/// A group of subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Domain {
    /// 13 subjects.
    Humanities,
    /// 14 subjects, and every subject that is not in the table.
    Other,
    /// 18 subjects.
    #[serde(rename = "STEM")]
    Stem,
    /// 12 subjects.
    #[serde(rename = "Social Sciences")]
    SocialSciences,
}

impl Domain {
    /// All domains, in the order of their names.
    pub const ALL: [Domain; 4] = [Domain::Humanities, Domain::Other, Domain::Stem, Domain::SocialSciences];

    /// Returns the name as it appears in the results.
    pub const fn name(self) -> &'static str {
        match self {
            Domain::Humanities => "Humanities",
            Domain::Other => "Other",
            Domain::Stem => "STEM",
            Domain::SocialSciences => "Social Sciences",
        }
    }
}

/// The project whose table of domains is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Categories {
    /// The table of MMLU's authors.
    #[default]
    #[serde(rename = "original")]
    Original,
    /// The table of lm-evaluation-harness.
    #[serde(rename = "lm-eval")]
    LmEval,
}

/// The subjects in alphabetical order, each with the domain in the authors' table.
pub const SUBJECTS: [(&str, Domain); 57] = [
    ("abstract_algebra", Domain::Stem),
    ("anatomy", Domain::Other),
    ("astronomy", Domain::Stem),
    ("business_ethics", Domain::Other),
    ("clinical_knowledge", Domain::Other),
    ("college_biology", Domain::Stem),
    ("college_chemistry", Domain::Stem),
    ("college_computer_science", Domain::Stem),
    ("college_mathematics", Domain::Stem),
    ("college_medicine", Domain::Other),
    ("college_physics", Domain::Stem),
    ("computer_security", Domain::Stem),
    ("conceptual_physics", Domain::Stem),
    ("econometrics", Domain::SocialSciences),
    ("electrical_engineering", Domain::Stem),
    ("elementary_mathematics", Domain::Stem),
    ("formal_logic", Domain::Humanities),
    ("global_facts", Domain::Other),
    ("high_school_biology", Domain::Stem),
    ("high_school_chemistry", Domain::Stem),
    ("high_school_computer_science", Domain::Stem),
    ("high_school_european_history", Domain::Humanities),
    ("high_school_geography", Domain::SocialSciences),
    ("high_school_government_and_politics", Domain::SocialSciences),
    ("high_school_macroeconomics", Domain::SocialSciences),
    ("high_school_mathematics", Domain::Stem),
    ("high_school_microeconomics", Domain::SocialSciences),
    ("high_school_physics", Domain::Stem),
    ("high_school_psychology", Domain::SocialSciences),
    ("high_school_statistics", Domain::Stem),
    ("high_school_us_history", Domain::Humanities),
    ("high_school_world_history", Domain::Humanities),
    ("human_aging", Domain::Other),
    ("human_sexuality", Domain::SocialSciences),
    ("international_law", Domain::Humanities),
    ("jurisprudence", Domain::Humanities),
    ("logical_fallacies", Domain::Humanities),
    ("machine_learning", Domain::Stem),
    ("management", Domain::Other),
    ("marketing", Domain::Other),
    ("medical_genetics", Domain::Other),
    ("miscellaneous", Domain::Other),
    ("moral_disputes", Domain::Humanities),
    ("moral_scenarios", Domain::Humanities),
    ("nutrition", Domain::Other),
    ("philosophy", Domain::Humanities),
    ("prehistory", Domain::Humanities),
    ("professional_accounting", Domain::Other),
    ("professional_law", Domain::Humanities),
    ("professional_medicine", Domain::Other),
    ("professional_psychology", Domain::SocialSciences),
    ("public_relations", Domain::SocialSciences),
    ("security_studies", Domain::SocialSciences),
    ("sociology", Domain::SocialSciences),
    ("us_foreign_policy", Domain::SocialSciences),
    ("virology", Domain::Other),
    ("world_religions", Domain::Humanities),
];

/// Returns the domain of a subject; `None` if it is not in the table.
pub fn domain(subject: &str, categories: Categories) -> Option<Domain> {
    if categories == Categories::LmEval && subject == "anatomy" {
        return Some(Domain::Stem);
    }
    let index = SUBJECTS.binary_search_by(|(name, _)| (*name).cmp(subject)).ok()?;
    Some(SUBJECTS[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_their_numbers_of_subjects() {
        assert!(SUBJECTS.is_sorted_by_key(|(name, _)| *name));
        let counts = |categories| {
            let of = |wanted| SUBJECTS.iter().filter(|(it, _)| domain(it, categories) == Some(wanted)).count();
            Domain::ALL.map(of)
        };
        assert_eq!(counts(Categories::Original), [13, 14, 18, 12]);
        assert_eq!(counts(Categories::LmEval), [13, 13, 19, 12]);
        assert_eq!(domain("alchemy", Categories::Original), None);
    }
}
