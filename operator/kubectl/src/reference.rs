//! Checks that docs/reference-kubectl.md has every command and flag of this program.

#[path = "../../../crds/tests/shared/command_page.rs"]
mod command_page;

use std::path::Path;

use crate::Cli;

const HEAD: &str = "Every command and flag of the plugin of kubectl, from its own definitions. `make reference` writes this page.\n\
                    [kubectl.md](kubectl.md) explains them, [exit-codes.md](exit-codes.md) has the exit codes.";

#[test]
fn the_page_lists_the_commands_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    command_page::assert_page_is_current::<Cli>(
        &root,
        "reference-kubectl.md",
        ("Commands of kubectl benchwright", HEAD),
    );
}
