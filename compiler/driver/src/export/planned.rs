//! What a plan chooses for the kernels of an export: each configuration, compiled for all targets, and the sizes by which a
//! launch takes one.

use super::{Compilation, image};

use crate::error::{CommandError, complain};
use cutec::plan::Plan;
use cutec::runtime::abi::Abi;
use cutec::{Compiled, Options, Tuned};
use cutec_export::{Choice, Configuration};
use cutec_tuning::candidate::size_sources;

/// Configurations, and which of them a launch takes.
#[derive(Default)]
pub struct Planned {
    /// Of each kernel that the plan names.
    pub choices: Vec<Choice>,
    /// The kernel of each configuration, and it compiled for all targets.
    configurations: Vec<(String, Vec<Compiled>)>,
}

impl Planned {
    /// The configurations of a build, by its number among what is wanted.
    pub fn of_build(&self, build: usize) -> Vec<Configuration<'_>> {
        let configurations = self.configurations.iter();
        let of_build = configurations.filter_map(|(kernel, compiled)| {
            let compiled = compiled.get(build)?;
            Some(Configuration {
                kernel,
                abi: compiled.abi.as_ref()?,
                image: image(compiled),
            })
        });
        of_build.collect()
    }
}

/// Compiles what a plan chooses for the kernels of an ABI. What it says nothing of keeps its defaults.
///
/// # Errors
/// Where a configuration does not compile for one of the targets.
pub fn planned(
    compilation: &mut Compilation<'_>,
    plan: &Plan,
    abi: &Abi,
) -> Result<Planned, CommandError> {
    let mut planned = Planned::default();
    for kernel in &abi.kernels {
        let mut fixed = compilation.arguments.define.clone();
        fixed.retain(|(name, _)| kernel.defines.contains_key(name));
        let Some(found) = plan.kernel(&kernel.name, &fixed) else {
            continue;
        };
        if size_sources(kernel, &found.symbols).is_none() {
            complain(&format!(
                "warning: the plan chooses `{}` by {}, which are not all among its extents and integers: it keeps its defaults",
                kernel.name,
                found.symbols.join(", ")
            ));
            continue;
        }
        let options = Options {
            kernel: Some(kernel.name.clone()),
            defines: fixed.clone(),
            ..Options::default()
        };
        let tuned = Tuned::new(compilation.source.clone(), options, plan);
        let Some(chooser) = tuned.chooser().filter(|_| !found.sizes.is_empty()) else {
            continue;
        };
        for number in 1..tuned.configurations() {
            let chosen = tuned.configuration(number);
            let defines = [fixed.as_slice(), chosen].concat();
            let compiled = compilation.compile(Some(&kernel.name), &defines);
            let compiled = compiled.inspect_err(|_| {
                let settings = chosen
                    .iter()
                    .map(|(name, value)| format!("{name} = {value}"));
                let settings: Vec<String> = settings.collect();
                complain(&format!(
                    "note: `{}` with {}, as the plan for {} chooses",
                    kernel.name,
                    settings.join(", "),
                    plan.device.name
                ));
            })?;
            planned.configurations.push((kernel.name.clone(), compiled));
        }
        let sizes = found.sizes.iter();
        planned.choices.push(Choice {
            kernel: kernel.name.clone(),
            symbols: found.symbols.clone(),
            sizes: sizes.map(|size| size.extents.clone()).collect(),
            logarithms: chooser.logarithms().to_vec(),
            configuration_of_sizes: tuned.configuration_of_sizes().to_vec(),
        });
    }
    if planned.choices.is_empty() {
        complain(
            "warning: the plan says nothing of these kernels with these parameters: they keep their defaults",
        );
    }
    Ok(planned)
}
