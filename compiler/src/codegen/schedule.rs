//! Where conversions stand in a block, and of how many elements they are; the backend keeps that.
//!
//! What makes values smaller stands behind what it converts, what makes them larger before what
//! takes them first: between the two only the smaller ones live. The order of the front end is that of the
//! statements: with a tile's sums in registers, `c = bf16(f(sums + f32(bias)))` converted all of `bias`
//! before the first addition and all results behind the last, which took more registers than there are.
//!
//! Elements that are taken one by one are made smaller one by one: of a pair the backend would convert the first by itself, and the other in
//! a register of which nothing writes the first half. Nor are two put together that are made larger one by one.

use super::ffi;
use std::collections::HashMap;

type Instruction = *mut ffi::Value;

/// Moves the conversions of floating-point numbers in every block of a module.
///
/// # Safety
/// `module` is alive, and nothing else uses it meanwhile.
pub(super) unsafe fn place_conversions(module: *mut ffi::Module) {
    // SAFETY: functions and blocks of a live module.
    unsafe {
        let builder = ffi::LLVMCreateBuilderInContext(ffi::LLVMGetModuleContext(module));
        let mut function = ffi::LLVMGetFirstFunction(module);
        while !function.is_null() {
            let mut block = ffi::LLVMGetFirstBasicBlock(function);
            while !block.is_null() {
                raise_narrowing(builder, block);
                split_narrowing(builder, block);
                split_words(builder, block);
                sink_widening(builder, block);
                block = ffi::LLVMGetNextBasicBlock(block);
            }
            function = ffi::LLVMGetNextFunction(function);
        }
        ffi::LLVMDisposeBuilder(builder);
    }
}

/// Puts each `fptrunc` behind what it converts.
///
/// # Safety
/// `block` is a block of a live module.
unsafe fn raise_narrowing(builder: *mut ffi::Builder, block: *mut ffi::BasicBlock) {
    // SAFETY: instructions of this block; each stays behind its operand and comes no later than it was.
    unsafe {
        for narrowing in of_block(block) {
            if ffi::LLVMGetInstructionOpcode(narrowing) != ffi::FP_TRUNC {
                continue;
            }
            let made = ffi::LLVMIsAInstruction(ffi::LLVMGetOperand(narrowing, 0));
            if !made.is_null()
                && ffi::LLVMGetInstructionParent(made) == block
                && ffi::LLVMGetInstructionOpcode(made) != ffi::PHI
            {
                move_before(builder, narrowing, ffi::LLVMGetNextInstruction(made));
            }
        }
    }
}

/// Makes of an `fptrunc` of which single elements are taken alone one for each.
///
/// # Safety
/// `block` is a block of a live module.
unsafe fn split_narrowing(builder: *mut ffi::Builder, block: *mut ffi::BasicBlock) {
    // SAFETY: instructions of this block; what is erased has no users any more.
    unsafe {
        let mut several = of_block(block);
        several.retain(|at| {
            ffi::LLVMGetInstructionOpcode(*at) == ffi::FP_TRUNC
                && ffi::LLVMGetTypeKind(ffi::LLVMTypeOf(*at)) == ffi::VECTOR_TYPE
        });
        for narrowing in several {
            let taken = users(narrowing);
            if !taken.iter().all(|user| is_taken_alone(*user)) {
                continue;
            }
            let to = ffi::LLVMGetElementType(ffi::LLVMTypeOf(narrowing));
            let from = ffi::LLVMGetOperand(narrowing, 0);
            ffi::LLVMPositionBuilderBefore(builder, narrowing);
            ffi::LLVMSetCurrentDebugLocation2(builder, ffi::LLVMInstructionGetDebugLoc(narrowing));
            for element in taken.into_iter().rev() {
                let index = ffi::LLVMGetOperand(element, 1);
                let name = c"".as_ptr();
                let wide = ffi::LLVMBuildExtractElement(builder, from, index, name);
                let narrow = ffi::LLVMBuildFPTrunc(builder, wide, to, name);
                ffi::LLVMReplaceAllUsesWith(element, narrow);
                ffi::LLVMInstructionEraseFromParent(element);
            }
            ffi::LLVMInstructionEraseFromParent(narrowing);
        }
    }
}

/// Whether an instruction takes a known element of a vector, which is not put into another one.
///
/// # Safety
/// `user` belongs to a live module.
unsafe fn is_taken_alone(user: Instruction) -> bool {
    // SAFETY: the operands and users of a live instruction.
    unsafe {
        ffi::LLVMGetInstructionOpcode(user) == ffi::EXTRACT_ELEMENT
            && !ffi::LLVMIsAConstantInt(ffi::LLVMGetOperand(user, 1)).is_null()
            && users(user)
                .iter()
                .all(|user| ffi::LLVMGetInstructionOpcode(*user) != ffi::INSERT_ELEMENT)
    }
}

/// Moves the halves of a word up one by one, as numbers of bf16 become those of f32, where it was put together for nothing else: the backend would put
/// each half into a word of its own, of which nothing writes the other half.
///
/// # Safety
/// `block` is a block of a live module.
unsafe fn split_words(builder: *mut ffi::Builder, block: *mut ffi::BasicBlock) {
    // SAFETY: instructions of this block; what is erased has no users any more, and is no word.
    unsafe {
        let words = of_block(block).into_iter();
        let words: Vec<_> = words.filter_map(|at| Some((at, halves_of(at)?))).collect();
        for (word, halves) in words {
            let takers = users(word);
            let Some(taken) = takers
                .iter()
                .map(|user| half_taken(*user, word))
                .collect::<Option<Vec<usize>>>()
            else {
                continue;
            };
            let ty = ffi::LLVMTypeOf(word);
            let by = ffi::LLVMConstInt(ty, 16, 0);
            for (user, half) in takers.into_iter().zip(taken) {
                ffi::LLVMPositionBuilderBefore(builder, user);
                ffi::LLVMSetCurrentDebugLocation2(builder, ffi::LLVMInstructionGetDebugLoc(user));
                let name = c"".as_ptr();
                let wide = ffi::LLVMBuildZExt(builder, halves[half], ty, name);
                let up = ffi::LLVMBuildShl(builder, wide, by, name);
                ffi::LLVMReplaceAllUsesWith(user, up);
                ffi::LLVMInstructionEraseFromParent(user);
            }
            ffi::LLVMInstructionEraseFromParent(word);
        }
    }
}

/// The two integers of 16 bits that a word is put together of.
///
/// # Safety
/// `word` belongs to a live module.
unsafe fn halves_of(word: Instruction) -> Option<[Instruction; 2]> {
    // SAFETY: operands of a live instruction, and their types.
    unsafe {
        let is_integer = |value: Instruction, bits: u32| {
            let ty = ffi::LLVMTypeOf(value);
            ffi::LLVMGetTypeKind(ty) == ffi::INTEGER_TYPE && ffi::LLVMGetIntTypeWidth(ty) == bits
        };
        let inserted = |vector: Instruction, lane: u64| {
            if ffi::LLVMIsAInstruction(vector).is_null()
                || ffi::LLVMGetInstructionOpcode(vector) != ffi::INSERT_ELEMENT
                || constant(ffi::LLVMGetOperand(vector, 2)) != Some(lane)
            {
                return None;
            }
            Some(ffi::LLVMGetOperand(vector, 1)).filter(|value| is_integer(*value, 16))
        };
        if ffi::LLVMGetInstructionOpcode(word) != ffi::BIT_CAST || !is_integer(word, 32) {
            return None;
        }
        let vector = ffi::LLVMGetOperand(word, 0);
        let second = inserted(vector, 1)?;
        let first = inserted(ffi::LLVMGetOperand(vector, 0), 0)?;
        Some([first, second])
    }
}

/// Which half of a word an instruction moves up, the other one being zero.
///
/// # Safety
/// Both belong to a live module.
unsafe fn half_taken(user: Instruction, word: Instruction) -> Option<usize> {
    // SAFETY: operands of a live instruction.
    unsafe {
        if ffi::LLVMGetOperand(user, 0) != word {
            return None;
        }
        let opcode = ffi::LLVMGetInstructionOpcode(user);
        let number = || constant(ffi::LLVMGetOperand(user, 1));
        match opcode {
            ffi::SHL if number() == Some(16) => Some(0),
            ffi::AND if number() == Some(0xffff_0000) => Some(1),
            _ => None,
        }
    }
}

/// # Safety
/// `value` belongs to a live module.
unsafe fn constant(value: Instruction) -> Option<u64> {
    // SAFETY: a live value; its number is asked for where it is one, of no more bits than there are.
    unsafe {
        let number = ffi::LLVMIsAConstantInt(value);
        let narrow = || ffi::LLVMGetIntTypeWidth(ffi::LLVMTypeOf(value)) <= 64;
        (!number.is_null() && narrow()).then(|| ffi::LLVMConstIntGetZExtValue(number))
    }
}

/// Puts each `fpext` before the first that takes it. What is converted again stays: its place and those
/// of its users do not change together.
///
/// # Safety
/// `block` is a block of a live module.
unsafe fn sink_widening(builder: *mut ffi::Builder, block: *mut ffi::BasicBlock) {
    // SAFETY: instructions of this block; each stays before its users, none of which is moved.
    unsafe {
        let instructions = of_block(block);
        let widens = |at: &Instruction| ffi::LLVMGetInstructionOpcode(*at) == ffi::FP_EXT;
        if !instructions.iter().any(widens) {
            return;
        }
        let places: HashMap<Instruction, usize> = instructions.iter().copied().zip(0..).collect();
        for widening in instructions.iter().copied().filter(widens) {
            let users = users(widening);
            let opcodes = || {
                users
                    .iter()
                    .map(|user| ffi::LLVMGetInstructionOpcode(*user))
            };
            if opcodes().any(|opcode| [ffi::FP_EXT, ffi::FP_TRUNC].contains(&opcode)) {
                continue;
            }
            let here = users
                .iter()
                .zip(opcodes())
                .filter(|(_, opcode)| *opcode != ffi::PHI);
            let first = here
                .filter_map(|(user, _)| Some((places.get(user)?, *user)))
                .min();
            if let Some((_, first)) = first {
                move_before(builder, widening, first);
            }
        }
    }
}

/// # Safety
/// `block` is a block of a live module.
unsafe fn of_block(block: *mut ffi::BasicBlock) -> Vec<Instruction> {
    // SAFETY: the caller's block.
    let first = unsafe { ffi::LLVMGetFirstInstruction(block) };
    let next = |at: &Instruction| {
        // SAFETY: an instruction of that block.
        let next = unsafe { ffi::LLVMGetNextInstruction(*at) };
        (!next.is_null()).then_some(next)
    };
    std::iter::successors((!first.is_null()).then_some(first), next).collect()
}

/// # Safety
/// `value` belongs to a live module.
unsafe fn users(value: Instruction) -> Vec<Instruction> {
    // SAFETY: the uses of a live value.
    unsafe {
        let mut users = Vec::new();
        let mut at = ffi::LLVMGetFirstUse(value);
        while !at.is_null() {
            users.push(ffi::LLVMGetUser(at));
            at = ffi::LLVMGetNextUse(at);
        }
        users
    }
}

/// Moves an instruction; it keeps its place in the source.
///
/// # Safety
/// Both belong to one live block.
unsafe fn move_before(builder: *mut ffi::Builder, moved: Instruction, next: Instruction) {
    if moved == next {
        return;
    }
    // SAFETY: the caller's instructions; the moved one is in no block only in between.
    unsafe {
        let location = ffi::LLVMInstructionGetDebugLoc(moved);
        ffi::LLVMInstructionRemoveFromParent(moved);
        ffi::LLVMPositionBuilderBefore(builder, next);
        ffi::LLVMInsertIntoBuilder(builder, moved);
        ffi::LLVMInstructionSetDebugLoc(moved, location);
    }
}
