//! Who may load a target: the runs that have it, and the line of those that wait. Pure.

use std::{cmp::Ordering, fmt, time::Duration};

use jiff::Timestamp;

/// What a run does with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It has an attempt, or begins another one.
    Holding,
    /// Its last attempt has ended or was deleted, and the pod may still work.
    Draining {
        /// When it counts no more, whatever its pod does: a pod on a lost node never reports its end.
        until: Timestamp,
    },
    /// It waits for the target.
    Waiting,
    /// It wants nothing now: it is suspended or cancelled, or waits for something else.
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
    /// When a run of its namespace last began to use the target, and when the run itself did; the earliest time for never. Namespaces
    /// take turns, and within a namespace a run that has had the target goes behind those that have not.
    pub turns: [Timestamp; 2],
    /// Whether it has the target to itself.
    pub exclusive: bool,
    /// Whether runs of other namespaces count, if they are so, too.
    pub is_cluster_wide: bool,
    /// What it does with the target.
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

    /// Whether it begins before another one.
    fn is_before(&self, other: &Member) -> bool {
        (self.turns, self.created, &self.uid) < (other.turns, other.created, &other.uid)
    }
}

/// Why a run waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Its number in line; 1 is the next one.
    pub position: usize,
    /// What the run in front of it does.
    pub ahead: Ahead,
    /// `namespace/name` of that run. It tells the owner of the waiting run whom to ask.
    pub name: String,
}

/// What the run in front does: the nearest to the target first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ahead {
    /// It has the target.
    Has,
    /// It has ended, and its pod has not.
    Drains,
    /// It begins first.
    Waits,
}

impl Busy {
    /// When to look again if nothing wakes the run. The further back, the seldomer: the end of a holder wakes the first in line.
    /// Nothing reports the end of a pod to the first one.
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

/// Why a run may not begin now; `None`: it may. Others are all runs of the target, in any order, this one among them or not.
///
/// A run that has the target keeps it. The others begin in the order of [`Member::turns`] and of their creation. Runs that share the
/// target do not wait for each other. They wait for exclusive runs in front of them, which would otherwise never begin.
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

/// The waiting runs that may begin now, unless a pod of an ended run works: those for which [`busy`] has no reason. Looks at each
/// run of the target at most three times, whatever their number, if they all exclude each other.
pub fn next<'a>(all: impl Iterator<Item = &'a Member> + Clone) -> Vec<&'a Member> {
    if !all.clone().all(|it| it.is_cluster_wide) {
        let waiting = all.clone().filter(|it| it.place == Place::Waiting);
        return waiting.filter(|it| busy(it, all.clone(), Timestamp::MAX).is_none()).collect();
    }
    let mut is_shared = false;
    // The first exclusive run of the line: who is behind it waits.
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
