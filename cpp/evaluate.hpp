// Running a program on truncated power series, one order at a time.
//
// registers[k * program.registers + r] is the coefficient of t^k of register r. Order 0 is ordinary
// evaluation. For order k the orders below k must be there already: a product then costs a
// convolution, a linear combination nothing more than before.
#pragma once

#include "complex.hpp"
#include "interface.hpp"

namespace PM_ISA {

using polymargin::Instruction;
using polymargin::Operation;
using polymargin::Program;

// Rows of a linear instruction handled together, so that a loaded argument is used several times.
constexpr int kRowBlock = 4;

template <class Real, int Rows>
inline void linear_rows(const Program& program, const Instruction& step, int row, const Complex<Real>* in,
                        Complex<Real>* out, bool with_bias) {
  Complex<Real> sum[Rows];
  const double* bias_hi = program.coefficient_hi + step.coefficients + row;
  const double* bias_lo = program.coefficient_lo + step.coefficients + row;
  for (int r = 0; r < Rows; ++r) {
    sum[r] = zero<Real>();
    if (with_bias) sum[r].re = real_from<Real>(bias_hi[r], bias_lo[r]);
  }
  const std::int32_t* arguments = program.arguments + step.arguments;
  for (int c = 0; c < step.columns; ++c) {
    Complex<Real> value = in[arguments[c]];
    const double* hi = bias_hi + (c + 1) * step.rows;
    const double* lo = bias_lo + (c + 1) * step.rows;
    for (int r = 0; r < Rows; ++r) {
      Real factor = real_from<Real>(hi[r], lo[r]);
      sum[r].re = fused(factor, value.re, sum[r].re);
      sum[r].im = fused(factor, value.im, sum[r].im);
    }
  }
  for (int r = 0; r < Rows; ++r) out[step.target + row + r] = sum[r];
}

template <class Real>
inline void run_linear(const Program& program, const Instruction& step, Complex<Real>* order, bool with_bias) {
  int row = 0;
  for (; row + kRowBlock <= step.rows; row += kRowBlock)
    linear_rows<Real, kRowBlock>(program, step, row, order, order, with_bias);
  for (; row < step.rows; ++row) linear_rows<Real, 1>(program, step, row, order, order, with_bias);
}

template <class Real>
inline Complex<Real> product_order(const Complex<Real>* left, const Complex<Real>* right, int stride, int k) {
  Complex<Real> sum = left[0] * right[k * stride];
  for (int i = 1; i <= k; ++i) sum = multiply_add(left[i * stride], right[(k - i) * stride], sum);
  return sum;
}

template <class Real> inline Complex<Real> square_order(const Complex<Real>* factor, int stride, int k) {
  if (k == 0) return squared(factor[0]);
  Complex<Real> half = factor[0] * factor[k * stride];
  for (int i = 1; 2 * i < k; ++i) half = multiply_add(factor[i * stride], factor[(k - i) * stride], half);
  Complex<Real> sum = half + half;
  return k % 2 ? sum : sum + squared(factor[k / 2 * stride]);
}

template <class Real> void run(const Program& program, int code_length, Complex<Real>* registers, int k) {
  const int stride = program.registers;
  Complex<Real>* order = registers + k * stride;
  for (const Instruction* step = program.code; step != program.code + code_length; ++step) {
    switch (step->operation) {
      case Operation::linear: run_linear(program, *step, order, k == 0); break;
      case Operation::product:
        order[step->target] = k == 0 ? order[step->left] * order[step->right]
                                     : product_order(registers + step->left, registers + step->right, stride, k);
        break;
      case Operation::square:
        order[step->target] = square_order(registers + step->left, stride, k);
        break;
    }
  }
}

// Constants never change: written once, order 0 their value, higher orders zero.
template <class Real> void load_constants(const Program& program, Complex<Real>* registers, int orders) {
  const int first = program.inputs + program.parameters;
  for (int c = 0; c < program.constants; ++c)
    for (int k = 0; k < orders; ++k) {
      Complex<Real>& target = registers[k * program.registers + first + c];
      target = zero<Real>();
      if (k == 0) target.re = real_from<Real>(program.constant_hi[c], program.constant_lo[c]);
    }
}

}  // namespace PM_ISA
