// Running a program: its values, and their derivative along the moving parameters.
//
// A register file has two orders: registers[r] is the value of register r, registers[program.registers + r] its
// derivative when the parameters move and the inputs stand still. The second order of inputs, constants and whatever
// else does not see a parameter is zero and stays so.
#pragma once

#include "complex.hpp"
#include "interface.hpp"

namespace PM_ISA {

using polymargin::Instruction;
using polymargin::Operation;
using polymargin::Program;

// Rows of a linear instruction handled together: a loaded argument is used for all of them, and their sums stay in
// registers (two per row, and some left for the argument and the coefficient).
template <class Real> constexpr int kRowBlock = 2;
template <> inline constexpr int kRowBlock<Lanes> = kVectorRegisters == 32 ? 12 : 6;

// Rows `row`, ... of a linear instruction; with Shared arguments, or each row with its own.
template <class Real, int Rows, bool Shared>
inline void linear_rows(const Program& program, const Instruction& step, int row, Complex<Real>* order, bool with_bias) {
  Complex<Real> sum[Rows];
  const double* hi = program.coefficient_hi + step.coefficients + row;
  const double* lo = program.coefficient_lo + step.coefficients + row;
  PM_UNROLL
  for (int r = 0; r < Rows; ++r) {
    sum[r] = zero<Real>();
    if (with_bias) sum[r].re = real_from<Real>(hi[r], lo[r]);
  }
  const std::int32_t* argument = program.arguments + step.arguments + (Shared ? 0 : row);
  for (int c = 0; c < step.columns; ++c, argument += Shared ? 1 : step.rows) {
    hi += step.rows;
    lo += step.rows;
    const Complex<Real> shared = order[*argument];
    PM_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const Complex<Real> value = Shared ? shared : order[argument[r]];
      const Real factor = real_from<Real>(hi[r], lo[r]);
      sum[r].re = fused(factor, value.re, sum[r].re);
      sum[r].im = fused(factor, value.im, sum[r].im);
    }
  }
  PM_UNROLL
  for (int r = 0; r < Rows; ++r) order[step.target + row + r] = sum[r];
}

// The rows that are left, fewer than a block.
template <class Real, int Rows, bool Shared>
inline void last_rows(const Program& program, const Instruction& step, int row, Complex<Real>* order, bool with_bias) {
  if constexpr (Rows > 0) {
    if (step.rows - row == Rows)
      linear_rows<Real, Rows, Shared>(program, step, row, order, with_bias);
    else
      last_rows<Real, Rows - 1, Shared>(program, step, row, order, with_bias);
  }
}

template <class Real, bool Shared>
inline void run_linear(const Program& program, const Instruction& step, Complex<Real>* order, bool with_bias) {
  constexpr int kBlock = Shared ? kRowBlock<Real> : 2;
  int row = 0;
  for (; row + kBlock <= step.rows; row += kBlock) linear_rows<Real, kBlock, Shared>(program, step, row, order, with_bias);
  last_rows<Real, kBlock - 1, Shared>(program, step, row, order, with_bias);
}

template <class Real> void run(const Program& program, Complex<Real>* registers) {
  for (const Instruction* step = program.code; step != program.code + program.code_length; ++step) {
    const std::int32_t* left = program.arguments + step->arguments;
    const std::int32_t* right = left + step->rows;
    Complex<Real>* target = registers + step->target;
    switch (step->operation) {
      case Operation::linear: run_linear<Real, true>(program, *step, registers, true); break;
      case Operation::single_rows: run_linear<Real, false>(program, *step, registers, true); break;
      case Operation::product:
        for (int r = 0; r < step->rows; ++r) target[r] = registers[left[r]] * registers[right[r]];
        break;
      case Operation::square:
        for (int r = 0; r < step->rows; ++r) target[r] = squared(registers[left[r]]);
        break;
    }
  }
}

// Needs the values; fills their derivatives along the parameters, whose own derivatives must be there.
template <class Real> void run_motion(const Program& program, Complex<Real>* registers) {
  Complex<Real>* motion = registers + program.registers;
  for (const Instruction* step = program.motion; step != program.motion + program.motion_length; ++step) {
    const std::int32_t* left = program.arguments + step->arguments;
    const std::int32_t* right = left + step->rows;
    Complex<Real>* target = motion + step->target;
    switch (step->operation) {
      case Operation::linear: run_linear<Real, true>(program, *step, motion, false); break;
      case Operation::single_rows: run_linear<Real, false>(program, *step, motion, false); break;
      case Operation::product:
        for (int r = 0; r < step->rows; ++r)
          target[r] = multiply_add(motion[left[r]], registers[right[r]], registers[left[r]] * motion[right[r]]);
        break;
      case Operation::square:
        for (int r = 0; r < step->rows; ++r) {
          const Complex<Real> half = registers[left[r]] * motion[left[r]];
          target[r] = half + half;
        }
        break;
    }
  }
}

// Constants never change; nothing moves before a path has set its parameters in motion.
template <class Real> void load_constants(const Program& program, Complex<Real>* registers) {
  for (int r = 0; r < 2 * program.registers; ++r) registers[r] = zero<Real>();
  for (int c = 0; c < program.constants; ++c)
    registers[program.inputs + program.parameters + c].re = real_from<Real>(program.constant_hi[c], program.constant_lo[c]);
}

}  // namespace PM_ISA
