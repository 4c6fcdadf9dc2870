//! A parsed PTX module and the launch of its kernels.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::buffer_map::BufferMap;
use super::buffers::SharedBuffers;
use super::entry::Variable;
pub use super::entry::{Entry, Param};
use super::error::{ErrorKind, SimError, SourceLoc};
use super::kernel::Tiles;
use super::profile::Profile;
use super::{Memory, Options, Space, Stats, exec};

/// A PTX module, parsed and decoded.
#[derive(Debug)]
pub struct Module {
    /// Unlike that of any other module of the process.
    number: u64,
    entries: Vec<Entry>,
    variables: Vec<Variable>,
}

impl Module {
    /// Parses PTX text and decodes every kernel in it.
    ///
    /// # Errors
    /// The text is not PTX, or uses something the simulator does not execute.
    pub fn parse(ptx: &str) -> Result<Module, SimError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let tree = super::parse::parse(ptx)?;
        let (entries, variables) = super::decode::decode(&tree)?;
        Ok(Module {
            number: NUMBER.fetch_add(1, Relaxed),
            entries,
            variables,
        })
    }

    /// The kernels, in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The kernel of this name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    /// Says which buffers the dynamic shared memory of a kernel is made of, so that an access that leaves its
    /// buffer for another one is an error. A name that no kernel has is ignored.
    pub fn set_shared_buffers(&mut self, entry: &str, buffers: SharedBuffers) {
        if let Some(entry) = self.entries.iter_mut().find(|e| e.name == entry) {
            let kernel = &mut entry.kernel;
            kernel.buffers = Some(BufferMap::new(buffers, &kernel.code));
        }
    }

    /// Says that a kernel is of the tile level, and at which positions of the source it scatters: of several elements that one
    /// such statement stores at one place any one is left, which is no race. A name that no kernel has is ignored.
    pub fn set_tiles(&mut self, entry: &str, scatters: &[SourceLoc]) {
        if let Some(entry) = self.entries.iter_mut().find(|e| e.name == entry) {
            let kernel = &mut entry.kernel;
            kernel.tiles = Some(Tiles::new(scatters, &kernel.code));
        }
    }

    /// Runs a kernel to its end.
    ///
    /// `params` is the parameter block, each parameter at its [`Param::offset`]
    /// ([`Entry::pack`] makes one).
    ///
    /// # Errors
    /// The launch does not fit the kernel, or the kernel did something wrong; then `memory` holds
    /// what was written before.
    #[allow(clippy::too_many_arguments)]
    pub fn launch(
        &self,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: &[u8],
        memory: &mut Memory,
        options: &Options,
    ) -> Result<Stats, SimError> {
        let geometry = (grid, block, dynamic_shared);
        let launch = self.prepare(entry, geometry, params, memory, options)?;
        exec::run(&launch)
    }

    /// Runs a kernel to its end, as [`Module::launch`] does, and counts what each instruction did.
    ///
    /// # Errors
    /// As those of [`Module::launch`].
    #[allow(clippy::too_many_arguments)]
    pub fn profile(
        &self,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: &[u8],
        memory: &mut Memory,
        options: &Options,
    ) -> Result<Profile, SimError> {
        let options = Options {
            counters: true,
            ..options.clone()
        };
        let geometry = (grid, block, dynamic_shared);
        let launch = self.prepare(entry, geometry, params, memory, &options)?;
        let stats = exec::run(&launch)?;
        Ok(launch.profile(stats))
    }

    fn prepare<'a>(
        &'a self,
        entry: &str,
        (grid, block, dynamic_shared): ([u32; 3], [u32; 3], u32),
        params: &[u8],
        memory: &'a mut Memory,
        options: &'a Options,
    ) -> Result<exec::Launch<'a>, SimError> {
        let Some(entry) = self.entry(entry) else {
            let entries = self.entries.iter().map(|e| e.name.clone()).collect();
            return Err(ErrorKind::NoSuchEntry {
                name: entry.to_owned(),
                entries,
            }
            .into());
        };
        entry.check_launch(grid, block, dynamic_shared, params, options)?;
        let variables = memory.module_variables(self.number, &self.variables)?;
        Ok(exec::Launch {
            entry: &entry.name,
            kernel: &entry.kernel,
            grid,
            block,
            dynamic_shared,
            params: exec::Bytes::filled(Space::Param, params),
            memory,
            variables: variables.into(),
            options,
            counters: Default::default(),
        })
    }
}
