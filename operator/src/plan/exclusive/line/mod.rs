//! Who may load a target: the runs that hold it, and the line of waiting runs. Pure.

use std::{cmp::Ordering, fmt, time::Duration};

use jiff::Timestamp;

/// What a run does with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The run has an attempt, or begins another attempt.
    Holding,
    /// The run's last attempt has ended or was deleted, and the pod may still work.
    Draining {
        /// When the run no longer counts, whatever its pod does: a pod on a lost node never reports its end.
        until: Timestamp,
    },
    /// The run waits for the target.
    Waiting,
    /// The run does not want the target now: it is suspended or cancelled, or waits for something else.
    Aside,
}

/// A run and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// UID of the run.
    pub uid: String,
    /// Namespace of the run.
    pub namespace: String,
    /// Name of the run.
    pub name: String,
    /// When it was created.
    pub created: Timestamp,
    /// When a run in this namespace last began to use the target, and when the run itself last did; the earliest time means never.
    /// Namespaces take turns. Within a namespace, a run that has had the target goes behind runs that have not had it.
    pub turns: [Timestamp; 2],
    /// Whether the run uses the target exclusively.
    pub exclusive: bool,
    /// Whether cluster-wide runs in other namespaces also count.
    pub is_cluster_wide: bool,
    /// The run's relation to the target.
    pub place: Place,
}

impl Member {
    /// Whether two runs must not load the target at the same time.
    pub(crate) fn excludes(&self, other: &Member) -> bool {
        let are_neighbours = self.namespace == other.namespace || (self.is_cluster_wide && other.is_cluster_wide);
        self.uid != other.uid && are_neighbours && (self.exclusive || other.exclusive)
    }

    /// `namespace/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether this run begins before the other run.
    fn is_before(&self, other: &Member) -> bool {
        (self.turns, self.created, &self.uid) < (other.turns, other.created, &other.uid)
    }
}

/// Why a run waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The run's number in line; 1 is the next run.
    pub position: usize,
    /// The state of the run in front.
    pub ahead: Ahead,
    /// `namespace/name` of the run in front. Shows the owner of the waiting run whom to contact.
    pub name: String,
}

/// The state of the run in front, ordered by closeness to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ahead {
    /// The run in front has the target.
    Has,
    /// The run in front has ended, but its pod has not.
    Drains,
    /// The run in front begins first.
    Waits,
}

impl Busy {
    /// When to look again if nothing wakes the run. Runs further back look less often, because the end of a holder wakes the first run in
    /// line. But no watch reports the end of a pod to the first run.
    pub fn next_look(&self) -> Duration {
        const SOON: Duration = Duration::from_secs(2);
        if self.position == 1 && self.ahead == Ahead::Drains {
            return SOON;
        }
        Duration::from_secs(u64::try_from(self.position).unwrap_or(u64::MAX).saturating_mul(6).clamp(30, 600))
    }

    /// The message of the waiting run. `endpoint`: the URL of the target.
    pub fn message(&self, endpoint: &str) -> String {
        let who = &self.name;
        let what = match self.ahead {
            Ahead::Has => format!("{who} has it"),
            Ahead::Drains => format!("the pod of {who} has not ended yet"),
            Ahead::Waits => format!("{who} begins first"),
        };
        format!("{} in line for {endpoint}; {what}", Ordinal(self.position))
    }
}

/// 1st, 2nd, 3rd, 4th.
struct Ordinal(usize);

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match (self.0 % 10, self.0 % 100) {
            (1, end) if end != 11 => "st",
            (2, end) if end != 12 => "nd",
            (3, end) if end != 13 => "rd",
            _ => "th",
        };
        write!(f, "{}{ending}", self.0)
    }
}

/// Why a run may not begin now; `None`: it may begin. `others`: all runs of the target in any order, with or without this run.
///
/// A run that has the target keeps it. The other runs begin in the order of [`Member::turns`] and of their creation. Runs that share the
/// target do not wait for each other. But they wait for exclusive runs in front of them, which would otherwise never begin.
pub fn busy<'a>(run: &Member, others: impl Iterator<Item = &'a Member>, now: Timestamp) -> Option<Busy> {
    let mut in_front = 0;
    let mut first: Option<(Ahead, &Member)> = None;
    for other in others.filter(|it| run.excludes(it)) {
        let ahead = match other.place {
            Place::Holding => Ahead::Has,
            Place::Draining { until } if until > now => Ahead::Drains,
            Place::Waiting if run.place != Place::Holding && other.is_before(run) => {
                in_front += 1;
                Ahead::Waits
            }
            Place::Draining { .. } | Place::Waiting | Place::Aside => continue,
        };
        let is_nearer = first.is_none_or(|(before, member)| match ahead.cmp(&before) {
            Ordering::Less => true,
            Ordering::Equal => other.is_before(member),
            Ordering::Greater => false,
        });
        if is_nearer {
            first = Some((ahead, other));
        }
    }
    let (ahead, other) = first?;
    Some(Busy { position: in_front + 1, ahead, name: other.full_name() })
}

/// The waiting runs that may begin now, unless a pod of an ended run works: [`busy`] returns `None` for each of them. If all runs are
/// cluster-wide, it visits each run of the target at most three times.
pub fn next<'a>(all: impl Iterator<Item = &'a Member> + Clone) -> Vec<&'a Member> {
    if !all.clone().all(|it| it.is_cluster_wide) {
        let waiting = all.clone().filter(|it| it.place == Place::Waiting);
        return waiting.filter(|it| busy(it, all.clone(), Timestamp::MAX).is_none()).collect();
    }
    let mut is_shared = false;
    // The first exclusive run in line. Runs behind it wait.
    let mut bound: Option<&Member> = None;
    for member in all.clone() {
        match member.place {
            Place::Holding if member.exclusive => return Vec::new(),
            Place::Holding => is_shared = true,
            Place::Waiting if member.exclusive && bound.is_none_or(|it| member.is_before(it)) => bound = Some(member),
            _ => {}
        }
    }
    let mut next: Vec<_> = all
        .filter(|it| it.place == Place::Waiting && !it.exclusive && bound.is_none_or(|bound| it.is_before(bound)))
        .collect();
    if next.is_empty() && !is_shared {
        next.extend(bound);
    }
    next
}

#[cfg(test)]
mod tests;
