//! Tasks of the search on devices: each has a thread, and a share of the configurations of a round.

use super::launches::open_device;
use super::{Request, TuneError};
use cutec_runtime::device::{DeviceError, DeviceSpec};
use cutec_runtime::{Cancel, Device};
use cutec_tuning::halving::{Task, Told, median};
use cutec_tuning::{Candidate, Measured, Station, Workload};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Whether the figures are the same in every run.
pub(super) fn is_exact(request: &Request<'_>) -> bool {
    let mut devices = request.devices.iter();
    devices.all(|spec| *spec == DeviceSpec::Sim)
}

/// The devices that measure one size. Each is opened, used and closed by a thread of its own.
pub(super) struct Devices {
    shares: Vec<Sender<Share>>,
    answers: Receiver<Answer>,
}

/// What one device is to measure.
struct Share {
    numbers: Vec<usize>,
    batches: usize,
}

enum Answer {
    /// The device has the operands, or why not.
    Ready(Result<(), DeviceError>),
    /// A batch is done.
    Batch,
    /// A share is done.
    Done(Vec<Told>),
}

/// A device with the operands of the size.
struct Seat<'a> {
    spec: DeviceSpec,
    workload: Arc<Workload>,
    candidates: &'a [Candidate],
    cancel: &'a Cancel,
    open: Option<Open>,
}

struct Open {
    device: Box<dyn Device>,
    station: Station,
}

/// Does something with the devices for a size.
///
/// # Errors
/// Where a device is not there or has no room for the operands, and what `body` gives.
pub(super) fn on_devices<T>(
    request: &Request<'_>,
    workload: &Arc<Workload>,
    candidates: &[Candidate],
    body: impl FnOnce(&Devices) -> Result<T, TuneError>,
) -> Result<T, TuneError> {
    let (specs, cancel) = (request.devices, &request.cancel);
    let (answer, answers) = channel();
    thread::scope(|scope| {
        let mut shares = Vec::new();
        for spec in specs {
            let (share, todo) = channel();
            shares.push(share);
            let answer = answer.clone();
            let (spec, workload) = (*spec, Arc::clone(workload));
            scope.spawn(move || {
                let mut seat = Seat {
                    spec,
                    workload,
                    candidates,
                    cancel,
                    open: None,
                };
                seat.work(&todo, &answer);
            });
        }
        drop(answer);
        let devices = Devices { shares, answers };
        for _ in specs {
            if let Ok(Answer::Ready(Err(error))) = devices.answers.recv() {
                return Err(error.into());
            }
        }
        body(&devices)
    })
}

/// Measures configurations of a launch, and the defaults, on a device that is opened for it.
///
/// # Errors
/// Where it is not there or has no room for the operands.
pub(super) fn measure_here(
    request: &Request<'_>,
    spec: DeviceSpec,
    workload: &Arc<Workload>,
    candidates: &[Candidate],
    numbers: &[usize],
    batches: usize,
) -> Result<Vec<Told>, TuneError> {
    let mut seat = Seat {
        spec,
        workload: Arc::clone(workload),
        candidates,
        cancel: &request.cancel,
        open: None,
    };
    seat.sit()?;
    let share = Share {
        numbers: numbers.to_vec(),
        batches,
    };
    let told = seat.measure(&share, &|| {});
    request.go_on()?;
    Ok(told)
}

impl Devices {
    /// Measures a task; the defaults too, on each device. `measured` is told how many batches are done.
    pub fn measure(&self, task: &Task, measured: &dyn Fn(usize)) -> Vec<Told> {
        let devices = self.shares.len();
        for (index, share) in self.shares.iter().enumerate() {
            let numbers = task.configurations.iter().skip(index).step_by(devices);
            // A thread that has ended says nothing of its share.
            let _ = share.send(Share {
                numbers: numbers.copied().collect(),
                batches: task.batches,
            });
        }
        let (mut batches, mut left) = (0, devices);
        let mut all: Vec<Told> = Vec::new();
        while left > 0 {
            match self.answers.recv() {
                Ok(Answer::Batch) => {
                    batches += 1;
                    measured(batches);
                }
                Ok(Answer::Done(told)) => {
                    left -= 1;
                    let known = all.iter().any(|known| known.number == 0);
                    all.extend(told.into_iter().filter(|told| told.number != 0 || !known));
                }
                Ok(Answer::Ready(_)) => {}
                Err(_) => break,
            }
        }
        all
    }
}

impl Seat<'_> {
    /// Measures one share after the other, until there are no more.
    fn work(&mut self, todo: &Receiver<Share>, answer: &Sender<Answer>) {
        let ready = self.sit().map(|_| ());
        let mut good = answer.send(Answer::Ready(ready)).is_ok();
        while good && let Ok(share) = todo.recv() {
            let told = self.measure(&share, &|| {
                let _ = answer.send(Answer::Batch);
            });
            good = answer.send(Answer::Done(told)).is_ok();
        }
    }

    fn sit(&mut self) -> Result<&mut Open, DeviceError> {
        if self.open.is_none() {
            let mut device = open_device(self.spec, self.cancel)?;
            let station = Station::new(device.as_mut(), Arc::clone(&self.workload))?;
            self.open = Some(Open { device, station });
        }
        // It was just made.
        self.open.as_mut().ok_or_else(|| DeviceError::UnknownSpec {
            spec: self.spec.to_string(),
        })
    }

    /// Batches of configurations in turns, the defaults among them.
    fn measure(&mut self, share: &Share, count: &dyn Fn()) -> Vec<Told> {
        let mut order: Vec<usize> = vec![0];
        order.extend(&share.numbers);
        let mut results: Vec<(usize, Measured)> = Vec::new();
        for _ in 0..share.batches {
            for number in &order {
                if self.cancel.is_cancelled() {
                    break;
                }
                count();
                let known = results.iter_mut().find(|(known, _)| known == number);
                if let Some((_, Measured::Wrong(_))) = known {
                    continue;
                }
                let measured = self.one(*number);
                match (known, measured) {
                    (Some((_, Measured::Figures(figures))), Measured::Figures(new)) => {
                        figures.extend(new);
                    }
                    (Some((_, known)), wrong) => *known = wrong,
                    (None, measured) => results.push((*number, measured)),
                }
            }
            // Who comes later finds the GPU warmer: take turns.
            order.reverse();
        }
        let of_defaults = results.iter().find(|(number, _)| *number == 0);
        let defaults = match of_defaults {
            Some((_, Measured::Figures(figures))) => median(figures),
            _ => None,
        };
        let defaults = defaults.unwrap_or(1.0);
        let told = results.into_iter().map(|(number, measured)| Told {
            number,
            measured,
            defaults,
        });
        told.collect()
    }

    /// One batch of a configuration.
    fn one(&mut self, number: usize) -> Measured {
        let artifact = match &self.candidates[number].compiled {
            Ok(artifact) => Arc::clone(artifact),
            Err(message) => return Measured::Wrong(message.clone()),
        };
        let open = match self.sit() {
            Ok(open) => open,
            Err(error) => return Measured::Wrong(error.to_string()),
        };
        let measured = open
            .station
            .measure(open.device.as_mut(), number, &artifact, 1);
        if matches!(measured, Measured::Wrong(_)) && open.device.synchronize().is_err() {
            // After a fault a context is lost: the others get a new one.
            self.open = None;
        }
        measured
    }
}
