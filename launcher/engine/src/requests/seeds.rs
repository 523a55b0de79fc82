//! The seeds of a run, and the random numbers drawn from them. Pure.

use crds::units::Seed;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// The seeds of a run.
#[derive(Clone, Copy, Debug)]
pub struct Seeds<'a> {
    /// The seed of times, lengths, order and texts.
    pub run: Seed,
    /// Mixed into the seed of texts that must differ from the texts of all other runs.
    pub prompt_salt: &'a str,
}

impl Seeds<'_> {
    /// Derives a seed for one purpose that differs from the seeds of other runs.
    pub(crate) fn salted(self, purpose: &str) -> Seed {
        self.run.derive(&format!("{purpose}/{}", self.prompt_salt))
    }
}

/// Creates seeds without a salt, for loads that can repeat the texts of another run: tests, and trials against the launcher's own server.
impl From<Seed> for Seeds<'static> {
    fn from(run: Seed) -> Self {
        Seeds { run, prompt_salt: "" }
    }
}

/// Returns the random numbers for one item and one purpose. They are independent of the numbers for any other item.
pub(crate) fn draws(purpose: Seed, item: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(purpose.0);
    rng.set_stream(item);
    rng
}
