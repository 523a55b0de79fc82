//! Checks that docs/reference-operator.md has every flag of this program.

#[path = "../../crds/tests/shared/command_page.rs"]
mod command_page;

use std::path::Path;

use crate::Flags;

const HEAD: &str = "Every flag of the operator, from its own definitions. `make reference` writes this page.\n\
                    The chart sets them: [operator.md](operator.md).";

#[test]
fn the_page_lists_the_flags_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    command_page::assert_page_is_current::<Flags>(
        &root,
        "reference-operator.md",
        ("Flags of benchwright-operator", HEAD),
    );
}
