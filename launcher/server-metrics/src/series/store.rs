//! The samples of all addresses, in limited memory.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use crds::benchmark_run::MetricsKind;

use super::{
    one::Series,
    process::{self, Processes},
    scrape::Scrape,
};
use crate::{
    families::{self, Meaning, Part, Role},
    parse::{self, Counts, Sample},
};

/// Limits on the memory for samples.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of values and scrapes over all series. Each takes 12 bytes.
    pub samples: usize,
    /// Maximum number of series over all addresses.
    pub series: usize,
    /// Maximum number of series in one address.
    pub series_of_one: usize,
    /// Maximum bytes of names and labels over all series.
    pub text: usize,
}

impl Default for Limits {
    /// 48 MiB of samples. A vLLM server has about 250 series, so this is enough for 4.6 hours at one scrape per second. 50,000 series have about 15
    /// MB of names and labels, which are stored twice.
    fn default() -> Limits {
        Limits { samples: 4 << 20, series: 50_000, series_of_one: 20_000, text: 32 << 20 }
    }
}

/// Maximum length of the labels of a series, in bytes; longer labels are truncated.
pub(super) const MAX_LABELS_BYTES: usize = 1_024;
/// Maximum number of scrapes at the start or end of a load. These are never removed. A rate search has two per load.
pub(super) const MAX_EDGES: usize = 64;

/// The response of an address, or its failure.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// When the request was sent, on the machine's monotonic clock.
    pub at: Duration,
    pub took: Duration,
    /// The text of the response; `None` if the scrape failed.
    pub text: Option<&'a [u8]>,
    /// Whether it marks the start or the end of a load. Such scrapes are not removed if memory is full.
    pub edge: bool,
}

/// Which series of an address are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Only series that a figure needs.
    Known,
    /// All series.
    All,
}

/// The scrapes and series of one address.
#[derive(Clone, Debug, Default)]
pub struct Address {
    pub(super) scrapes: Vec<Scrape>,
    pub(super) next: u32,
    /// Index of each series by its name and labels as they appear in the text. `None` for a series of which only the labels are kept.
    by_text: HashMap<Box<str>, Option<usize>>,
    pub(super) series: usize,
    /// Number of series that were left out because of the limits, in the scrape in which that number was largest.
    pub left_out: usize,
    /// Number of lines that could not be read, in the scrape in which that number was largest.
    pub bad_lines: usize,
    /// The labels of series that describe the server, each with its role.
    pub infos: Vec<(Role, Box<str>)>,
    /// The kind of source; `None` before the first response.
    pub engine: Option<MetricsKind>,
    pub(super) processes: Processes,
}

impl Address {
    /// Whether several servers respond in turn at this address, as behind a gateway or a Service with a cluster address. Increases and sums are then
    /// meaningless. GPU metrics are an exception: their labels name the GPU, so that their series are not mixed up.
    pub fn is_several_servers(&self) -> bool {
        self.engine != Some(MetricsKind::Dcgm) && self.processes.are_several_servers()
    }

    /// The scrapes in time order.
    pub fn scrapes(&self) -> &[Scrape] {
        &self.scrapes
    }

    /// Number of series that are kept.
    pub fn series(&self) -> usize {
        self.series
    }
}

/// The samples of all addresses.
#[derive(Clone, Debug, Default)]
pub struct Store {
    limits: Limits,
    pub(super) addresses: Vec<Address>,
    pub(super) series: Vec<Series>,
    pub(super) samples: usize,
    /// Total bytes of names and labels.
    pub(super) text: usize,
    pub(super) halvings: u32,
}

impl Store {
    pub fn new(limits: Limits) -> Store {
        Store { limits, ..Store::default() }
    }

    /// Adds an address and returns its index. `engine` is the kind of source; `None` if it is to be identified by the first response.
    pub fn add_address(&mut self, engine: Option<MetricsKind>) -> usize {
        self.addresses.push(Address { engine, ..Address::default() });
        self.addresses.len() - 1
    }

    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// The series with this role. For an address without such series, those with the role's older name.
    pub(super) fn named(&self, role: Role) -> impl Iterator<Item = &Series> {
        let old = role.old();
        let of = |it: &&Series| it.role == role && old.is_some();
        let new: BTreeSet<usize> = self.series.iter().filter(of).map(|it| it.address).collect();
        let series = self.series.iter();
        series.filter(move |it| it.role == role || (Some(it.role) == old && !new.contains(&it.address)))
    }

    /// The series with this role and this part of a metric, each with the scrapes of its address.
    pub(super) fn of_role(&self, role: Role, part: Part) -> impl Iterator<Item = (&Series, &[Scrape])> {
        let series = self.named(role).filter(move |it| it.part == part);
        series.map(|it| (it, self.addresses.get(it.address).map_or(&[][..], |it| it.scrapes())))
    }

    /// Whether there is an address with this role at which several servers respond in turn.
    pub(super) fn is_mixed(&self, role: Role) -> bool {
        self.named(role).any(|it| self.addresses.get(it.address).is_some_and(Address::is_several_servers))
    }

    /// How many times every second scrape was removed. The caller multiplies its scrape interval by 2 to this power.
    pub fn halvings(&self) -> u32 {
        self.halvings
    }

    /// Adds the response of an address. Returns whether it contained samples. A text without samples is a failure.
    pub fn record(&mut self, address: usize, answer: Answer<'_>, keep: Keep) -> bool {
        let Some(of) = self.addresses.get_mut(address) else { return false };
        let number = of.next;
        of.next = number.saturating_add(1);
        let counts = answer.text.map(|text| self.read(address, number, text, keep)).unwrap_or_default();
        let ok = counts.samples + counts.unwanted > 0;
        let Answer { at, took, edge, .. } = answer;
        if let Some(of) = self.addresses.get_mut(address) {
            of.scrapes.push(Scrape { number, at, took, ok, edge });
            if ok {
                of.bad_lines = of.bad_lines.max(counts.bad);
            }
        }
        self.samples += 1;
        while self.samples > self.limits.samples && self.halve() {}
        ok
    }

    fn read(&mut self, address: usize, number: u32, text: &[u8], keep: Keep) -> Counts {
        let Store { limits, addresses, series, samples, text: text_bytes, .. } = self;
        let Some(of) = addresses.get_mut(address) else { return Counts::default() };
        if of.engine.is_none() {
            of.engine = engine(text);
        }
        let keep_all = keep == Keep::All || of.engine == Some(MetricsKind::Prometheus);
        let wanted = |name: &str| families::meaning(name).is_some() || (keep_all && !name.ends_with("_created"));
        let (mut key, mut left_out, mut fell) = (String::new(), 0, false);
        let changed = of.processes.see(parse::value_of(text, process::START));
        let counts = parse::scan(text, wanted, |sample| {
            key.clear();
            key.extend([sample.name, "{", sample.labels]);
            let known = of.by_text.get(key.as_str()).copied();
            let place = known.or_else(|| {
                let room = series.len() < limits.series && of.by_text.len() < limits.series_of_one;
                if !room || *text_bytes + key.len() > limits.text {
                    return None;
                }
                let new = new_series(address, sample, &mut of.infos)?;
                *text_bytes += key.len();
                let place = new.map(|new| {
                    let known =
                        (new.role == Role::GpuEnergy).then(|| series.iter().position(|it| is_same_gpu(it, &new)));
                    known.flatten().unwrap_or_else(|| {
                        of.series += 1;
                        series.push(new);
                        series.len() - 1
                    })
                });
                of.by_text.insert(key.as_str().into(), place);
                Some(place)
            });
            match place {
                Some(Some(place)) => {
                    let series = &mut series[place];
                    *samples += usize::from(series.push(number, sample.value, changed));
                    fell |= !changed && series.shows_restarts() && series.fell(number);
                }
                Some(None) => {}
                None => left_out += 1,
            }
            true
        });
        of.left_out = of.left_out.max(left_out);
        if fell {
            of.processes.fall();
        }
        counts
    }

    /// Removes every second scrape, except the last one and those at the start or end of a load. Returns `false` if there was nothing to remove.
    fn halve(&mut self) -> bool {
        let before = self.samples;
        self.halvings += 1;
        for address in &mut self.addresses {
            let edges = address.scrapes.iter().filter(|it| it.edge).count();
            let (mut older, last) = (edges.saturating_sub(MAX_EDGES), address.scrapes.len().saturating_sub(1));
            let mut place = 0;
            address.scrapes.retain(|scrape| {
                let is_edge = scrape.edge && older == 0;
                older -= usize::from(scrape.edge && older > 0);
                let kept = is_edge || place % 2 == 0 || place == last;
                place += 1;
                kept
            });
        }
        for series in &mut self.series {
            let scrapes = self.addresses.get(series.address).map_or(&[][..], |it| it.scrapes.as_slice());
            series.keep(scrapes);
        }
        self.samples = self.series.iter().map(Series::len).sum::<usize>()
            + self.addresses.iter().map(|it| it.scrapes.len()).sum::<usize>();
        self.samples < before
    }
}

/// The kind of source of a text, by the first metric name that is known.
pub(super) fn engine(text: &[u8]) -> Option<MetricsKind> {
    let mut found = None;
    let counts = parse::scan(
        text,
        |_| true,
        |sample| {
            found = families::source_of(sample.name);
            found.is_none()
        },
    );
    found.or((counts.samples > 0).then_some(MetricsKind::Prometheus))
}

/// Whether two series count the energy of the same GPU. Other labels can differ: they name the pod that uses the GPU, and that can change during a
/// run.
pub(super) fn is_same_gpu(one: &Series, other: &Series) -> bool {
    let gpu = |it: &Series| {
        let labels = parse::labels(&it.labels)?;
        labels.into_iter().find(|it| it.name == "UUID").map(|it| it.value.into_owned())
    };
    (one.role, one.address) == (other.role, other.address) && gpu(other).is_some_and(|it| gpu(one) == Some(it))
}

/// Adds a new series. Returns `Some(None)` if only its labels are stored and no values, and `None` if its labels cannot be read.
pub(super) fn new_series(
    address: usize,
    sample: Sample<'_>,
    infos: &mut Vec<(Role, Box<str>)>,
) -> Option<Option<Series>> {
    let other = || Meaning { role: Role::Kept, part: families::part_by_name(sample.name) };
    let Meaning { role, part } = families::meaning(sample.name).unwrap_or_else(other);
    let mut labels = parse::labels(sample.labels)?;
    if matches!(role, Role::CacheConfig | Role::GpuUtilization | Role::GpuPower | Role::Running) && infos.len() < 1_024
    {
        infos.push((role, sample.labels.into()));
    }
    if part == Part::Info {
        return Some(None);
    }
    let bound = labels.iter().find(|it| it.name == "le").and_then(|it| it.value.parse().ok());
    if part == Part::Bucket && bound.is_none() {
        return None;
    }
    labels.sort_by(|one, other| one.name.cmp(other.name));
    let mut text = String::new();
    for label in &labels {
        let comma = if text.is_empty() { "" } else { "," };
        let value = label.value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        text.extend([comma, label.name, "=\"", &value, "\""]);
    }
    if text.len() > MAX_LABELS_BYTES {
        text.truncate(text.floor_char_boundary(MAX_LABELS_BYTES - 3));
        text.push_str("...");
    }
    Some(Some(Series::new(address, sample.name, &text, Meaning { role, part }, bound)))
}
