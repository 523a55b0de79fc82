//! Decides which runs may load a target: the runs that occupy it, and the line of waiting runs. Pure.

use std::{cmp::Ordering, fmt, time::Duration};

use jiff::Timestamp;

/// The relation of a run to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The run has an attempt, or is about to begin another attempt.
    Holding,
    /// The run's last attempt has ended or was deleted, but its pod may still work.
    Draining {
        /// The time after which the run no longer counts, whatever the state of its pod: a pod on a lost node never reports its end.
        until: Timestamp,
    },
    /// The run waits for the target.
    Waiting,
    /// The run does not need the target now: it is suspended or cancelled, or waits for something else.
    Aside,
}

/// A run in the line of its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// UID of the run.
    pub uid: String,
    /// Namespace of the run.
    pub namespace: String,
    /// Name of the run.
    pub name: String,
    /// The time at which the run was created.
    pub created: Timestamp,
    /// Two times that determine the order in line. First: when a run of this namespace last began to use the target. By this time, namespaces take
    /// turns. Second: when this run itself last began. By this time, runs that have not used the target yet go before other runs of the same
    /// namespace. The earliest possible time means never.
    pub turns: [Timestamp; 2],
    /// Whether the run needs the target exclusively.
    pub exclusive: bool,
    /// Whether this run and cluster-wide runs in other namespaces wait for each other.
    pub is_cluster_wide: bool,
    /// The run's relation to the target.
    pub place: Place,
}

impl Member {
    /// Whether this run and another run must not load the target at the same time.
    pub(crate) fn excludes(&self, other: &Member) -> bool {
        let are_neighbours = self.namespace == other.namespace || (self.is_cluster_wide && other.is_cluster_wide);
        self.uid != other.uid && are_neighbours && (self.exclusive || other.exclusive)
    }

    /// The name in the form `namespace/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether this run begins before another run.
    fn is_before(&self, other: &Member) -> bool {
        (self.turns, self.created, &self.uid) < (other.turns, other.created, &other.uid)
    }
}

/// The reason why a run waits for its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The position of the run in line, counted from 1.
    pub position: usize,
    /// The state of the run that it waits for.
    pub ahead: Ahead,
    /// `namespace/name` of the run that it waits for, so that the user knows whom to contact.
    pub name: String,
}

/// The state of the run in front. The order of the variants: the nearer a run is to the use of the target, the smaller is its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ahead {
    /// The run in front occupies the target.
    Has,
    /// The run in front has ended, but its pod has not.
    Drains,
    /// The run in front also waits, but begins first.
    Waits,
}

impl Busy {
    /// Time to the next reconciliation if nothing wakes the run before. The first run in line gets reconciliations often, because no watch reports to
    /// it that the pod of an ended run is gone. The end of a run that occupies the target wakes the first run, so runs further back need fewer
    /// reconciliations.
    pub fn next_look(&self) -> Duration {
        const SOON: Duration = Duration::from_secs(2);
        if self.position == 1 && self.ahead == Ahead::Drains {
            return SOON;
        }
        Duration::from_secs(u64::try_from(self.position).unwrap_or(u64::MAX).saturating_mul(6).clamp(30, 600))
    }

    /// The message for the status of the waiting run. `endpoint` is the URL of the target.
    pub fn message(&self, endpoint: &str) -> String {
        let who = &self.name;
        let what = match self.ahead {
            Ahead::Has => format!("{who} uses it now"),
            Ahead::Drains => format!("the pod of {who} has not ended yet"),
            Ahead::Waits => format!("{who} begins first"),
        };
        format!("{} in line for {endpoint}; {what}", Ordinal(self.position))
    }
}

/// Prints a number as 1st, 2nd, 3rd, 4th.
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

/// Returns why a run may not begin now. `None` if it may. `others` are all runs of the target in any order. They can include this run.
///
/// A run that occupies the target keeps it. The other runs begin in the order of [`Member::turns`] and then of their creation. Runs that do not need
/// the target exclusively do not wait for each other. But they wait for exclusive runs in front of them, because otherwise an exclusive run might
/// never begin.
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

/// The waiting runs that can begin now: [`busy`] returns `None` for each of them, unless a pod of an ended run still works. If all runs are
/// cluster-wide, this function iterates over the runs of the target at most three times.
pub fn next<'a>(all: impl Iterator<Item = &'a Member> + Clone) -> Vec<&'a Member> {
    if !all.clone().all(|it| it.is_cluster_wide) {
        let waiting = all.clone().filter(|it| it.place == Place::Waiting);
        return waiting.filter(|it| busy(it, all.clone(), Timestamp::MAX).is_none()).collect();
    }
    let mut is_shared = false;
    // The first exclusive run in line. Runs behind it must wait.
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
