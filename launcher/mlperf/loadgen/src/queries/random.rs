//! LoadGen's random numbers: MT19937, and the distributions of LoadGen's builds. Every function consumes exactly as many outputs of the generator as
//! in LoadGen, so that later draws agree too.
//!
//! These are the distributions of GCC 11 and newer on Linux, with which the official wheels are built. Other C++ libraries draw other numbers.

use std::time::Duration;

const WORDS: usize = 624;
const MIDDLE: usize = 397;
const MATRIX: u32 = 0x9908_b0df;
const UPPER: u32 = 0x8000_0000;
const MAX: u64 = u32::MAX as u64;
const TWO_POW_32: f64 = 4_294_967_296.0;
/// The largest double below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The 32-bit Mersenne Twister MT19937.
#[derive(Clone)]
pub struct Mt19937 {
    state: [u32; WORDS],
    next: usize,
}

impl Mt19937 {
    /// The seed of a generator that is not seeded explicitly.
    pub const DEFAULT_SEED: u64 = 5489;

    /// Creates a generator. Only the lower 32 bits of the seed are used.
    pub fn new(seed: u64) -> Self {
        let mut state = [0; WORDS];
        state[0] = seed as u32;
        for i in 1..WORDS {
            let last = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Mt19937 { state, next: WORDS }
    }

    /// Returns the next output.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        let mut it = self.state[self.next];
        self.next += 1;
        it ^= it >> 11;
        it ^= (it << 7) & 0x9d2c_5680;
        it ^= (it << 15) & 0xefc6_0000;
        it ^ (it >> 18)
    }

    fn twist(&mut self) {
        for i in 0..WORDS {
            let joined = (self.state[i] & UPPER) | (self.state[(i + 1) % WORDS] & !UPPER);
            let odd = if joined & 1 == 1 { MATRIX } else { 0 };
            self.state[i] = self.state[(i + MIDDLE) % WORDS] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// Returns a real number in [0, 1), from two outputs.
    pub fn canonical(&mut self) -> f64 {
        let low = f64::from(self.next_u32());
        let high = f64::from(self.next_u32());
        let drawn = (low + high * TWO_POW_32) / (TWO_POW_32 * TWO_POW_32);
        // The sum can be rounded up to 2^64, which would make the quotient 1.
        if drawn >= 1.0 { BELOW_ONE } else { drawn }
    }

    /// Returns an integer from 0 to `most`, inclusive. Ranges up to 32 bits use Lemire's method.
    pub fn uniform(&mut self, most: u64) -> u64 {
        if most < MAX {
            return self.below(most + 1);
        }
        if most == MAX {
            return u64::from(self.next_u32());
        }
        loop {
            let high = self.uniform(most >> 32) << 32;
            let drawn = high.wrapping_add(u64::from(self.next_u32()));
            if drawn <= most && drawn >= high {
                return drawn;
            }
        }
    }

    /// Returns an integer below `count`, which must be at least 1 and below 2^32.
    fn below(&mut self, count: u64) -> u64 {
        let mut product = u64::from(self.next_u32()) * count;
        if product & MAX < count {
            // Products whose low half is at least the threshold are distributed evenly over the numbers.
            let threshold = ((1 << 32) - count) % count;
            while product & MAX < threshold {
                product = u64::from(self.next_u32()) * count;
            }
        }
        product >> 32
    }

    /// Shuffles the elements. With up to 65535 elements, one draw determines two swaps.
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        let length = elements.len() as u64;
        // The casts are safe, because all values are below the length of a slice.
        let mut swap = |one: u64, other: u64| elements.swap(one as usize, other as usize);
        if length == 0 {
            return;
        }
        if MAX / length < length {
            for i in 1..length {
                swap(i, self.uniform(i));
            }
            return;
        }
        let mut i = 1;
        if length.is_multiple_of(2) {
            swap(1, self.uniform(1));
            i = 2;
        }
        while i < length {
            let choices = i + 1;
            let both = self.uniform(choices * (choices + 1) - 1);
            swap(i, both / (choices + 1));
            swap(i + 1, both % (choices + 1));
            i += 2;
        }
    }

    /// Returns the gap before the next query of a Poisson process with `rate` queries per second, in whole nanoseconds. At rate 1, the longest
    /// possible gap is 37 seconds. A gap that exceeds 64 bits of nanoseconds becomes the largest value that fits.
    pub fn exponential(&mut self, rate: f64) -> Duration {
        let seconds = -(1.0 - self.canonical()).ln() / rate;
        Duration::from_nanos((seconds * 1e9) as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn outputs_are_those_of_the_published_generator() {
        let mut random = Mt19937::new(Mt19937::DEFAULT_SEED);
        assert_eq!(random.next_u32(), 3_499_211_612);
        // The C++ standard requires this value of std::mt19937.
        assert_eq!((1..10_000).map(|_| random.next_u32()).last(), Some(4_123_659_995));
    }

    #[test]
    fn a_full_range_is_one_output() {
        let (mut drawn, mut plain) = (Mt19937::new(3), Mt19937::new(3));
        assert_eq!(drawn.uniform(u64::from(u32::MAX)), u64::from(plain.next_u32()));
        assert_eq!(drawn.next_u32(), plain.next_u32());
    }

    #[test]
    fn an_element_alone_draws_nothing() {
        for length in 0..=1 {
            let (mut shuffled, mut plain) = (Mt19937::new(3), Mt19937::new(3));
            shuffled.shuffle(&mut vec![0; length]);
            assert_eq!(shuffled.next_u32(), plain.next_u32());
        }
    }

    #[test]
    fn a_rate_that_is_too_low_for_the_clock_gives_the_longest_gap() {
        assert_eq!(Mt19937::new(1).exponential(1e-300), Duration::from_nanos(u64::MAX));
    }

    proptest! {
        #[test]
        fn seeds_that_agree_in_32_bits_draw_the_same(seed: u32, more: u32) {
            let other = u64::from(seed) | (u64::from(more) << 32);
            let (mut one, mut other) = (Mt19937::new(u64::from(seed)), Mt19937::new(other));
            for _ in 0..700 {
                prop_assert_eq!(one.next_u32(), other.next_u32());
            }
        }

        #[test]
        fn draws_are_in_range(seed: u64, most: u64, shift in 0u32..64) {
            let mut random = Mt19937::new(seed);
            let most = most >> shift;
            for _ in 0..20 {
                prop_assert!(random.uniform(most) <= most);
                prop_assert!((0.0..1.0).contains(&random.canonical()));
            }
        }

        #[test]
        fn a_shuffle_loses_nothing(seed: u64, length in 0usize..300) {
            let mut elements: Vec<usize> = (0..length).collect();
            Mt19937::new(seed).shuffle(&mut elements);
            elements.sort_unstable();
            prop_assert_eq!(elements, (0..length).collect::<Vec<_>>());
        }

        #[test]
        fn gaps_shrink_with_the_rate(seed: u64, rate in 0.001f64..1e6) {
            let gap = |rate| Mt19937::new(seed).exponential(rate);
            prop_assert!(gap(rate * 2.0) <= gap(rate));
            prop_assert!(gap(rate).as_secs_f64() <= 37.0 / rate);
        }
    }
}
