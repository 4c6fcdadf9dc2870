//! Exported kernels with several configurations: a launch takes the one that the plan's own chooser says.

use super::floats;
use super::mock::{Any, Driver, Exported};
use super::random::Random;
use cutec_abi::Abi;
use cutec_abi::embed::from_json;
use cutec_export::Choice;
use cutec_tuning::{KernelPlan, SizePlan};
use std::collections::{BTreeMap, HashSet};

/// A kernel of a matrix and a number, with blocks of `tile` columns; it takes multiples of `step` of them.
fn kernel(tile: usize, step: usize, smem: u32) -> Abi {
    let json = format!(
        r#"{{"cutec_abi": 1, "kernels": [{{"name": "scale", "entry": "scale", "target": "sm_80",
        "args": [{{"kind": "tensor", "name": "y", "dtype": "f32", "mutable": true, "align": 4,
                   "extents": [{{"symbol": 0}}, {{"symbol": 1}}],
                   "strides": [{{"symbol": 1}}, {{"const": 1}}]}},
                 {{"kind": "scalar", "name": "by", "dtype": "f32"}},
                 {{"kind": "scalar", "name": "times", "dtype": "u64"}}],
        "symbols": [{{"name": "m", "width": 64, "from": {{"extent": {{"arg": 0, "mode": 0}}}}}},
                    {{"name": "n", "width": 64, "divisible_by": {step}, "from": {{"extent": {{"arg": 0, "mode": 1}}}}}},
                    {{"name": "times", "width": 64, "from": {{"scalar": {{"arg": 2}}}}}}],
        "params": [{{"pointer": {{"arg": 0}}}}, {{"scalar": {{"arg": 1}}}}, {{"symbol": {{"index": 2}}}}],
        "grid": [{{"const": {tile}}}, {{"const": 1}}, {{"const": 1}}],
        "block": [{{"const": 32}}, {{"const": 1}}, {{"const": 1}}],
        "smem_bytes": {smem}, "defines": {{"tile": "{tile}"}}}}]}}"#
    );
    from_json(&json).expect("an ABI")
}

/// A plan of these sizes.
fn plan(sizes: &[[i64; 3]]) -> KernelPlan {
    let size = |extents: &[i64; 3]| SizePlan {
        extents: extents.to_vec(),
        chosen: BTreeMap::new(),
        speedup: 1.0,
        unit: "seconds".to_owned(),
        measured: Vec::new(),
        dropped: BTreeMap::new(),
    };
    KernelPlan {
        kernel: "scale".to_owned(),
        source: String::new(),
        fixed: BTreeMap::new(),
        symbols: ["m", "n", "times"].map(str::to_owned).to_vec(),
        configurations: sizes.len(),
        sizes: sizes.iter().map(size).collect(),
    }
}

/// The choice of a plan, with the configuration of each size.
fn choice(plan: &KernelPlan, configurations: &[usize]) -> Choice {
    Choice {
        kernel: plan.kernel.clone(),
        symbols: plan.symbols.clone(),
        sizes: plan.sizes.iter().map(|size| size.extents.clone()).collect(),
        logarithms: plan.chooser().logarithms().to_vec(),
        configuration_of_sizes: configurations.to_vec(),
    }
}

#[test]
fn c_chooses_as_the_plan_does() {
    let (driver, _one) = Driver::take();
    let mut random = Random(7);
    let extent = |random: &mut Random| {
        let near = 1_i64 << random.below(40);
        match random.below(4) {
            // As far from one power of two as from another.
            0 => near,
            1 => near + near / 2,
            2 => 0,
            _ => (random.next() >> (1 + random.below(62))) as i64,
        }
    };
    let sizes: Vec<[i64; 3]> = (0..40)
        .map(|_| {
            [
                extent(&mut random),
                extent(&mut random),
                extent(&mut random),
            ]
        })
        .collect();
    let plan = plan(&sizes);
    let chooser = plan.chooser();
    // Each size has a configuration of its own, but for one in four, which has the defaults.
    let numbers: Vec<usize> = (0..sizes.len())
        .map(|size| if size % 4 == 0 { 0 } else { size })
        .collect();
    let configurations: Vec<Abi> = (0..sizes.len())
        .map(|number| kernel(number + 1, 1, 0))
        .collect();
    let exported = Exported::with_choice(
        driver,
        "chosen",
        "sm_80",
        &configurations,
        choice(&plan, &numbers),
    );
    let launch = exported.function::<Launch>("scale_launch");
    let mut seen = HashSet::new();
    for round in 0..4000 {
        let extents = match round % 5 {
            0 => sizes[random.below(sizes.len())],
            _ => [
                extent(&mut random),
                extent(&mut random),
                extent(&mut random),
            ],
        };
        let [m, n, times] = extents;
        let shape = [m, n];
        let y = floats(&shape, 0x1000, 0);
        driver.clear();
        let status = launch(&y, 1.0, times as u64, 0);
        let size = chooser.choose(&extents).expect("there are sizes");
        let expected = numbers[size];
        if status == 0 {
            assert_eq!(
                driver.launched(),
                format!("configuration {expected}"),
                "{extents:?}"
            );
            // What is checked and launched is that configuration's too.
            let grid = format!("launch scale grid {} 1 1 ", expected + 1);
            assert!(
                driver.log().contains(&grid),
                "{extents:?}: {}",
                driver.log()
            );
            seen.insert(expected);
        } else {
            // Tensors beyond all addresses.
            assert_eq!((status, driver.log().as_str()), (8, ""), "{extents:?}");
        }
    }
    assert!(seen.len() > 20, "{} configurations", seen.len());
    // What is not launched is not loaded; `load` loads all.
    let before = driver.loads();
    let load = exported.function::<extern "C" fn(i32) -> i32>("chosen_load");
    assert_eq!((load(0), load(1)), (0, 0));
    let unused = numbers
        .iter()
        .enumerate()
        .filter(|(index, number)| *index != **number)
        .count();
    assert!(unused > 5);
    assert_eq!(
        driver.loads() - before,
        (2 * sizes.len() - seen.len()) as i32
    );
}

/// `scale_launch`
type Launch = extern "C" fn(*const cutec_abi::dlpack::Tensor, f32, u64, usize) -> i32;

#[test]
fn what_the_chosen_configuration_refuses_has_the_defaults() {
    let (driver, _one) = Driver::take();
    // Small ones by the first configuration, which takes multiples of 8 alone; large ones by one that no GPU has room for.
    let plan = plan(&[[16, 16, 1], [1024, 1024, 1]]);
    let configurations = [kernel(1, 2, 0), kernel(2, 8, 0), kernel(3, 2, 200 << 10)];
    let exported = Exported::with_choice(
        driver,
        "refused",
        "sm_80",
        &configurations,
        choice(&plan, &[1, 2]),
    );
    let launch = exported.function::<Launch>("scale_launch");
    let launched = |m: i64, n: i64| {
        driver.clear();
        let shape = [m, n];
        let status = launch(&floats(&shape, 0x1000, 0), 1.0, 1, 0);
        (status, driver.launched())
    };
    assert_eq!(launched(16, 24), (0, "configuration 1".to_owned()));
    assert_eq!(launched(16, 18), (0, "configuration 0".to_owned()));
    assert_eq!(launched(1000, 1000), (0, "configuration 0".to_owned()));
    // No call has failed so far.
    assert_eq!(exported.last_error("refused"), "");
    // What all refuse is said as the defaults say it.
    assert_eq!(launched(16, 17).0, 13);
    let text = "mode 1 of `y`: `n` must be divisible by 2, found 17";
    assert_eq!(exported.last_error("refused"), text);
    assert_eq!(launched(16, 18).0, 0);
    assert_eq!(exported.last_error("refused"), text);
    // A failure of the driver is none of the arguments.
    driver.number("mock_fail_launch", 700);
    assert_eq!(launched(16, 24).0, 41);
    driver.number("mock_fail_launch", 0);
    // Arguments that are none of the kernel's.
    let shape = [16];
    assert_eq!(launch(&floats(&shape, 0x1000, 0), 1.0, 1, 0), 5);
    let shape = [16, 18];
    assert_eq!(launch(&floats(&shape, 0x1000, 0), 1.0, u64::MAX, 0), 23);
    let y = floats(&shape, 0x1000, 0);
    assert!(exported.call("scale", &[Any::tensor(&y), Any::float(1.0), Any::int(1)]));
    assert_eq!(driver.launched(), "configuration 0");
}

#[test]
fn without_extents_all_launches_have_the_one_configuration() {
    let (driver, _one) = Driver::take();
    let mut plan = plan(&[[1, 1, 1]]);
    plan.symbols.clear();
    plan.sizes[0].extents.clear();
    assert_eq!(plan.chooser().choose(&[]), Some(0));
    let configurations = [kernel(1, 1, 0), kernel(2, 1, 0)];
    let choice = choice(&plan, &[1]);
    let exported = Exported::with_choice(driver, "single", "sm_80", &configurations, choice);
    let launch = exported.function::<Launch>("scale_launch");
    for n in [1, 1000] {
        let shape = [n, n];
        assert_eq!(launch(&floats(&shape, 0x1000, 0), 1.0, 1, 0), 0);
        assert_eq!(driver.launched(), "configuration 1");
    }
}
