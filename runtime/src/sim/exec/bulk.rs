//! Bulk copies and asynchronous stores (PTX ISA 9.7.9.25.4, 9.7.9.25.5, 9.7.9.12): what is checked where one is issued,
//! and what it does in flight.
//!
//! Each thread issues a copy of its own, of as many bytes as it says or as the box of a tensor map has ([`region`]).
//! A load completes by counting its bytes at an `mbarrier`, when they have arrived; its target counts as in flight until
//! then. A store reads its source at one moment and writes its target at a later one; a thread may wait for either.
//!
//! [`region`]: super::region

use super::cta::Cta;
use super::in_flight::Effect;
use super::race::{Actor, Flying};
use super::region::{CHUNK, Region, aligned, read_map};
use super::shared::value;
use super::touch::{Touch, pages};
use super::warp::Warp;
use super::{Fault, access, fault_at};
use crate::sim::Space;
use crate::sim::decode::update_of_map;
use crate::sim::error::{Access, Act, ErrorKind};
use crate::sim::isa::{
    Address, Bulk, BulkGlobal, BulkUpdate, Order, PEER_SHIFT, Proxy, Scope, StoreAsync, Update,
};
use crate::sim::lane::{Src, WARP, lanes};
use crate::tensor::DType;

/// What the address of a box in shared memory is a multiple of.
const BOX_ALIGN: u32 = 128;

/// Who has issued a copy.
#[derive(Debug, Clone, Copy)]
struct Issuer {
    actor: Actor,
    lane: u32,
    proxy: Proxy,
}

/// What is copied into shared memory.
#[derive(Debug)]
enum Source {
    Global(Region),
    /// Bytes of the CTA's own shared memory.
    Shared {
        from: u64,
        bytes: u32,
    },
    Registers(Vec<u8>),
}

/// Where it goes, and which `mbarrier` counts it.
#[derive(Debug, Clone, Copy)]
struct Target {
    to: u64,
    barrier: u64,
}

/// A copy of one thread into shared memory.
#[derive(Debug)]
pub(super) struct Load {
    issuer: Issuer,
    source: Source,
    /// Of each CTA that receives it.
    targets: Vec<Target>,
    update: Option<(Update, u32)>,
}

/// A copy of one thread out of shared memory, or an update with what is there.
#[derive(Debug)]
pub(super) struct Store {
    issuer: Issuer,
    from: u64,
    region: Region,
    /// A function of elements of so many bytes.
    update: Option<(Update, u32)>,
    /// What it has read, where it has.
    data: Option<Vec<u8>>,
    /// Whether its thread knows that it has.
    released: bool,
    /// Whether another lane stores the same bytes to the same place with the same instruction.
    repeats: bool,
}

impl Source {
    fn bytes(&self) -> u32 {
        match self {
            Source::Global(region) => region.bytes(),
            Source::Shared { bytes, .. } => *bytes,
            Source::Registers(data) => data.len() as u32,
        }
    }

    /// The pieces of a target.
    fn pieces(&self, to: u64) -> Vec<(u64, u32)> {
        match self {
            Source::Global(region) => region.targets(to),
            Source::Shared { .. } | Source::Registers(_) => vec![(to, self.bytes())],
        }
    }

    /// The bytes of the tensor map, where others may write them.
    fn map(&self) -> Option<(Space, u64, u32)> {
        match self {
            Source::Global(region) => region.map(),
            Source::Shared { .. } | Source::Registers(_) => None,
        }
    }

    /// What is read of memory.
    fn reads(&self) -> Vec<(Space, u64, u32)> {
        match self {
            Source::Global(region) => region.globals().collect(),
            Source::Shared { from, bytes } => vec![(Space::Shared, *from, *bytes)],
            Source::Registers(_) => Vec::new(),
        }
    }
}

impl Issuer {
    /// The same as one that reads tensor maps.
    fn of_maps(self) -> Issuer {
        Issuer {
            proxy: Proxy::TensorMap,
            ..self
        }
    }

    /// Takes note that a tensor map is in use from now on.
    fn begin_map(self, cta: &mut Cta<'_>, map: (Space, u64, u32)) -> Result<(), Fault> {
        self.of_maps().begin(cta, Act::MapRead, Order::WEAK, map)
    }

    /// Takes note of accesses that are in flight from now on.
    fn begin(
        self,
        cta: &mut Cta<'_>,
        act: Act,
        order: Order,
        place: (Space, u64, u32),
    ) -> Result<(), Fault> {
        self.begin_changing(cta, act, order, place, u32::MAX)
    }

    /// The same; `changed` has the lanes that may write another value than others with the same instruction.
    fn begin_changing(
        self,
        cta: &mut Cta<'_>,
        act: Act,
        order: Order,
        (space, address, bytes): (Space, u64, u32),
        changed: u32,
    ) -> Result<(), Fault> {
        let touch = Touch {
            space,
            act,
            order,
            proxy: self.proxy,
            addresses: &[address; WARP],
            bytes,
            mask: 1 << self.lane,
            changed,
        };
        cta.touch_bulk(&touch, address)
    }

    /// Who counts bytes at an `mbarrier`, and the place of that: it is done in the phase that it counts in.
    fn at_barrier(self, barrier: u64) -> (Issuer, (Space, u64, u32)) {
        let by = Issuer {
            proxy: Proxy::Generic,
            ..self
        };
        (by, (Space::Shared, barrier, 8))
    }

    /// Accesses in flight are complete, from a clock on.
    fn settle(
        self,
        cta: &mut Cta<'_>,
        (space, address, bytes): (Space, u64, u32),
        clock: u32,
        updates: bool,
    ) {
        let Some(races) = &mut cta.races else {
            return;
        };
        for (at, bytes) in pages(address, bytes) {
            let flying = match updates {
                true => Flying::Update,
                false => Flying::Weak(self.proxy),
            };
            races.settle_bulk((space, at, bytes), self.lane, self.actor, clock, flying);
        }
    }
}

/// Updates of elements are strong, of the device's scope (PTX ISA 9.7.9.25.4.2).
const UPDATES: Order = Order {
    scope: Scope::Gpu,
    ..Order::RELAXED
};

fn order_of(update: Option<(Update, u32)>) -> Order {
    match update {
        Some(_) => UPDATES,
        None => Order::WEAK,
    }
}

impl Load {
    /// Checks the targets, and puts them out of reach.
    fn begin(&self, cta: &mut Cta<'_>) -> Result<(), Fault> {
        let lane = self.issuer.lane as usize;
        let order = order_of(self.update);
        for &Target { to, barrier } in &self.targets {
            let object = cta.mbarrier(barrier).map(|_| ());
            object.map_err(fault_at(lane))?;
            let (by, object) = self.issuer.at_barrier(barrier);
            by.begin(cta, Act::BulkSignal, UPDATES, object)?;
            for (at, bytes) in self.source.pieces(to) {
                let (memory, place) = cta
                    .memory_at_mut(Space::Cluster, at)
                    .map_err(fault_at(lane))?;
                let announced = match self.update {
                    None => memory.announce_bulk(place, bytes),
                    // What is updated stays there, and others may update it as well.
                    Some(_) => memory.read_any(place, bytes),
                };
                announced.map_err(fault_at(lane))?;
            }
        }
        if let Some(map) = self.source.map() {
            self.issuer.begin_map(cta, map)?;
        }
        for read in self.source.reads() {
            self.issuer.begin(cta, Act::BulkRead, Order::WEAK, read)?;
        }
        for target in &self.targets {
            for (at, bytes) in self.source.pieces(target.to) {
                let write = (Space::Shared, at, bytes);
                self.issuer.begin(cta, Act::BulkWrite, order, write)?;
            }
        }
        Ok(())
    }

    /// The bytes arrive, and are counted.
    pub fn take_place(&self, cta: &mut Cta<'_>) -> Result<(), ErrorKind> {
        let mut first_clock = 0;
        for (index, &Target { to, barrier }) in self.targets.iter().enumerate() {
            match &self.source {
                Source::Global(region) => region.load(cta, to)?,
                Source::Shared { from, bytes } => {
                    let data = cta.shared.glance(*from, *bytes).to_vec();
                    self.put(cta, to, &data)?;
                }
                Source::Registers(data) => self.put(cta, to, data)?,
            }
            let clock = match &mut cta.races {
                Some(races) => races.phase_clock(barrier),
                None => 0,
            };
            if index == 0 {
                first_clock = clock;
            }
            let (by, object) = self.issuer.at_barrier(barrier);
            by.settle(cta, object, clock, true);
            for (at, bytes) in self.source.pieces(to) {
                if self.update.is_none() {
                    let (memory, place) = cta.memory_at_mut(Space::Cluster, at)?;
                    memory.complete(place, bytes);
                }
                let write = (Space::Shared, at, bytes);
                self.issuer.settle(cta, write, clock, self.update.is_some());
            }
        }
        for read in self.source.reads() {
            self.issuer.settle(cta, read, first_clock, false);
        }
        if let Some(map) = self.source.map() {
            self.issuer.of_maps().settle(cta, map, first_clock, false);
        }
        for target in &self.targets {
            cta.count_bytes(target.barrier, -i64::from(self.source.bytes()))?;
        }
        Ok(())
    }

    fn put(&self, cta: &mut Cta<'_>, to: u64, data: &[u8]) -> Result<(), ErrorKind> {
        let (memory, place) = cta.memory_at_mut(Space::Cluster, to)?;
        let Some((update, bytes)) = self.update else {
            memory.deposit(place, data);
            return Ok(());
        };
        for (element, at) in data
            .chunks(bytes as usize)
            .zip((place..).step_by(bytes as usize))
        {
            let old = value(memory.glance(at, bytes));
            let new = update(old, value(element), 0).to_le_bytes();
            memory.deposit(at, &new[..bytes as usize]);
        }
        Ok(())
    }
}

impl Store {
    fn begin(&self, cta: &mut Cta<'_>) -> Result<(), Fault> {
        if let Some(map) = self.region.map() {
            self.issuer.begin_map(cta, map)?;
        }
        for (at, bytes) in self.region.sources(self.from) {
            let read = (Space::Shared, at, bytes);
            self.issuer.begin(cta, Act::BulkRead, Order::WEAK, read)?;
        }
        let changed = if self.repeats { 0 } else { u32::MAX };
        for write in self.region.globals() {
            let order = order_of(self.update);
            let act = Act::BulkWrite;
            self.issuer
                .begin_changing(cta, act, order, write, changed)?;
        }
        Ok(())
    }

    /// Whether it has read its source, and its thread knows it.
    pub fn is_released(&self) -> bool {
        self.released
    }

    /// Whether it has read its source.
    pub fn has_read(&self) -> bool {
        self.data.is_some()
    }

    /// Reads its source.
    pub fn read(&mut self, cta: &Cta<'_>) {
        if self.data.is_none() {
            let mut data = Vec::with_capacity(self.region.bytes() as usize);
            for (at, bytes) in self.region.sources(self.from) {
                data.extend_from_slice(cta.shared.glance(at, bytes));
            }
            self.data = Some(data);
        }
    }

    /// The thread has waited until the source was read, at a clock.
    pub fn release(&mut self, cta: &mut Cta<'_>, clock: u32) {
        self.read(cta);
        if self.released {
            return;
        }
        self.released = true;
        for (at, bytes) in self.region.sources(self.from) {
            let read = (Space::Shared, at, bytes);
            self.issuer.settle(cta, read, clock, false);
        }
    }

    /// Writes its target.
    pub fn take_place(&mut self, cta: &mut Cta<'_>) -> Result<(), ErrorKind> {
        self.read(cta);
        let data = self.data.as_deref().unwrap_or_default();
        self.region.store(cta, data, self.update)
    }

    /// The thread has waited until the target was written, at a clock.
    pub fn complete(&mut self, cta: &mut Cta<'_>, clock: u32) {
        self.release(cta, clock);
        for write in self.region.globals() {
            self.issuer.settle(cta, write, clock, self.update.is_some());
        }
        if let Some(map) = self.region.map() {
            self.issuer.of_maps().settle(cta, map, clock, false);
        }
    }
}

impl Warp {
    /// `cp.async.bulk`.
    pub(super) fn bulk(&mut self, cta: &mut Cta<'_>, bulk: &Bulk, mask: u32) -> Result<(), Fault> {
        let mut first: Option<(u64, Region)> = None;
        for lane in lanes(mask) {
            let mut effect = self.decode_bulk(cta, bulk, lane).map_err(fault_at(lane))?;
            if let (Effect::Store(store), true) = (&mut effect, mask.count_ones() > 1) {
                let place = (store.from, store.region.clone());
                store.repeats = store.update.is_none() && first.as_ref() == Some(&place);
                first.get_or_insert(place);
            }
            self.begin_bulk(cta, effect, lane)?;
        }
        Ok(())
    }

    /// `st.async`, `red.async`.
    pub(super) fn store_async(
        &mut self,
        cta: &mut Cta<'_>,
        store: &StoreAsync,
        mask: u32,
    ) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let mut data = Vec::new();
            for &src in &store.srcs {
                let value = self.of_lane(src, lane).to_le_bytes();
                data.extend_from_slice(&value[..store.bytes as usize]);
            }
            let to = self.shared_address(&store.address, lane);
            let barrier = self.shared_address(&store.barrier, lane);
            let (access, align) = (Access::Write, data.len() as u32);
            aligned(Space::Shared, access, to, align).map_err(fault_at(lane))?;
            let load = Load {
                issuer: issuer(cta, lane, Proxy::Generic),
                source: Source::Registers(data),
                targets: vec![Target { to, barrier }],
                update: store.update.map(|update| (update, store.bytes)),
            };
            self.begin_bulk(cta, Effect::Load(Box::new(load)), lane)?;
        }
        Ok(())
    }

    fn begin_bulk(&mut self, cta: &mut Cta<'_>, effect: Effect, lane: usize) -> Result<(), Fault> {
        cta.has_bulk = true;
        match &effect {
            Effect::Load(load) => {
                load.same_home(cta).map_err(fault_at(lane))?;
                load.begin(cta)?;
            }
            Effect::Store(store) => store.begin(cta)?,
            Effect::CopyAsync(_) => {}
        }
        self.in_flight.begin(cta, effect, 1 << lane)
    }

    fn decode_bulk(
        &self,
        cta: &mut Cta<'_>,
        bulk: &Bulk,
        lane: usize,
    ) -> Result<Effect, ErrorKind> {
        let issuer = issuer(cta, lane, Proxy::Async);
        Ok(match bulk {
            Bulk::Load {
                from,
                to,
                size,
                barrier,
                multicast,
            } => {
                let (region, _) = self.region(cta, from, *size, Access::Read, lane)?;
                let target = Target {
                    to: self.shared_address(to, lane),
                    barrier: self.shared_address(barrier, lane),
                };
                check_shared(from, target.to, Access::Write)?;
                region.check_source(cta)?;
                let targets = match *multicast {
                    None => vec![target],
                    Some(mask) => {
                        let mask = self.of_lane(mask, lane) as u16;
                        receivers(cta, mask, target)?
                    }
                };
                Effect::Load(Box::new(Load {
                    issuer,
                    source: Source::Global(region),
                    targets,
                    update: None,
                }))
            }
            Bulk::Peer {
                from,
                to,
                size,
                barrier,
                update,
            } => {
                let bytes = self.of_lane(*size, lane) as u32;
                check_size(bytes)?;
                let from = self.shared_address(from, lane);
                let target = Target {
                    to: self.shared_address(to, lane),
                    barrier: self.shared_address(barrier, lane),
                };
                aligned(Space::Shared, Access::Read, from, CHUNK as u32)?;
                aligned(Space::Shared, Access::Write, target.to, CHUNK as u32)?;
                cta.check_space(Space::Shared, from)?;
                cta.shared.read_any(from, bytes)?;
                let update = match *update {
                    None => None,
                    Some(update) => Some(typed(update, None)?),
                };
                Effect::Load(Box::new(Load {
                    issuer,
                    source: Source::Shared { from, bytes },
                    targets: vec![target],
                    update,
                }))
            }
            Bulk::Store {
                from,
                to,
                size,
                update,
            } => {
                let (region, dtype) = self.region(cta, to, *size, Access::Write, lane)?;
                let from = self.shared_address(from, lane);
                cta.check_space(Space::Shared, from)?;
                check_shared(to, from, Access::Read)?;
                region.check_target(cta, from)?;
                let update = match *update {
                    None => None,
                    Some(update) => Some(typed(update, dtype)?),
                };
                Effect::Store(Box::new(Store {
                    issuer,
                    from,
                    region,
                    update,
                    data: None,
                    released: false,
                    repeats: false,
                }))
            }
        })
    }

    fn of_lane(&self, src: Src, lane: usize) -> u64 {
        self.registers.wides_of(src)[lane]
    }

    fn shared_address(&self, address: &Address, lane: usize) -> u64 {
        access::resolve(address.space, self.addresses(address)[lane]).1
    }

    /// What an instruction moves of global memory, and of which type.
    fn region(
        &self,
        cta: &Cta<'_>,
        global: &BulkGlobal,
        size: Option<Src>,
        way: Access,
        lane: usize,
    ) -> Result<(Region, Option<DType>), ErrorKind> {
        match global {
            BulkGlobal::Flat { address } => {
                let size = size.map_or(0, |size| self.of_lane(size, lane) as u32);
                check_size(size)?;
                let at = self.addresses(address)[lane];
                aligned(Space::Global, way, at, CHUNK as u32)?;
                Ok((Region::flat(at, size), None))
            }
            BulkGlobal::Tensor {
                map,
                coordinates,
                offsets,
            } => {
                let (space, at) = (map.space, self.addresses(map)[lane]);
                let map = read_map(cta, space, at)?;
                let of_lane = |&src: &Src| self.of_lane(src, lane) as i32;
                let coordinates: Vec<i32> = coordinates.iter().map(of_lane).collect();
                let offset = |&src: &Src| self.of_lane(src, lane) as u16;
                let offsets = offsets
                    .as_ref()
                    .map(|offsets| offsets.iter().map(offset).collect());
                let offsets: Option<Vec<u16>> = offsets;
                let region = Region::of_box(&map, &coordinates, offsets.as_deref(), way)?;
                let region = region.by_map(access::resolve(space, at));
                Ok((region, Some(map.dtype)))
            }
        }
    }
}

impl Load {
    /// Bytes are counted where they arrive.
    fn same_home(&self, cta: &Cta<'_>) -> Result<(), ErrorKind> {
        for &Target { to, barrier } in &self.targets {
            let (to, barrier) = (cta.home(to)?.0, cta.home(barrier)?.0);
            if to != barrier {
                let name = |peer: Option<usize>| match peer {
                    None => "the own CTA".to_owned(),
                    Some(rank) => format!("CTA {rank} of the cluster"),
                };
                return Err(ErrorKind::Mbarrier {
                    address: self.targets[0].barrier,
                    what: "place of the object that counts a copy's bytes",
                    expected: format!("{}, where they go", name(to)),
                    found: name(barrier),
                });
            }
        }
        Ok(())
    }
}

fn issuer(cta: &Cta<'_>, lane: usize, proxy: Proxy) -> Issuer {
    Issuer {
        actor: cta.actor,
        lane: lane as u32,
        proxy,
    }
}

/// The same place in each CTA of a mask.
fn receivers(cta: &Cta<'_>, mask: u16, target: Target) -> Result<Vec<Target>, ErrorKind> {
    let ctas = cta.launch.ctas_of_cluster();
    let mask = u32::from(mask);
    if mask == 0 || mask >> ctas != 0 {
        return Err(ErrorKind::Value {
            what: "CTAs that receive a copy",
            expected: format!("a mask of some of the cluster's {ctas}"),
            found: mask.into(),
        });
    }
    let place = |address: u64| address & ((1 << PEER_SHIFT) - 1);
    let of = |rank: usize, address: u64| match rank == cta.rank as usize {
        true => place(address),
        false => place(address) | (rank as u64 + 1) << PEER_SHIFT,
    };
    let targets = lanes(mask).map(|rank| Target {
        to: of(rank, target.to),
        barrier: of(rank, target.barrier),
    });
    Ok(targets.collect())
}

/// An update of elements of a tensor map's type, and their bytes.
fn typed(update: BulkUpdate, dtype: Option<DType>) -> Result<(Update, u32), ErrorKind> {
    match update {
        BulkUpdate::Typed { function, bytes } => Ok((function, bytes)),
        BulkUpdate::OfMap(kind) => {
            let found = dtype.and_then(|dtype| Some((update_of_map(kind, dtype)?, dtype)));
            let wrong = || ErrorKind::TensorMap {
                what: "element type",
                expected: format!("one that `.{}` is for", kind.name()),
                found: dtype.map_or("none".to_owned(), |dtype| dtype.to_string()),
            };
            let (function, dtype) = found.ok_or_else(wrong)?;
            Ok((function, dtype.size() as u32))
        }
    }
}

fn check_size(bytes: u32) -> Result<(), ErrorKind> {
    match bytes > 0 && bytes.is_multiple_of(CHUNK as u32) {
        true => Ok(()),
        false => Err(ErrorKind::Value {
            what: "bytes of a bulk copy",
            expected: "a multiple of 16 above 0".to_owned(),
            found: bytes.into(),
        }),
    }
}

fn check_shared(global: &BulkGlobal, at: u64, access: Access) -> Result<(), ErrorKind> {
    let align = match global {
        BulkGlobal::Tensor { .. } => BOX_ALIGN,
        BulkGlobal::Flat { .. } => CHUNK as u32,
    };
    aligned(Space::Shared, access, at, align)
}
