//! The seeds of a run, and the random numbers that are drawn from them. Pure.

use crds::units::Seed;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// The seeds of a run.
#[derive(Clone, Copy, Debug)]
pub struct Seeds<'a> {
    /// The seed of times, lengths, order and texts.
    pub run: Seed,
    /// Added to the seed of texts that must differ from the texts of all other runs.
    pub prompt_salt: &'a str,
}

impl Seeds<'_> {
    /// A seed for one purpose that differs from the seeds of other runs.
    pub(crate) fn salted(self, purpose: &str) -> Seed {
        self.run.derive(&format!("{purpose}/{}", self.prompt_salt))
    }
}

/// For a load that may repeat texts of another run: a test, or a trial against its own server.
impl From<Seed> for Seeds<'static> {
    fn from(run: Seed) -> Self {
        Seeds { run, prompt_salt: "" }
    }
}

/// The random numbers of one item for one purpose, independent of the numbers of any other item.
pub(crate) fn draws(purpose: Seed, item: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(purpose.0);
    rng.set_stream(item);
    rng
}
