// OwnedProgram: the arrays that a Program points into, checked once so that no index leaves its array.
//
// Two things are found out here, so that nobody has to say them: whether the Jacobian is symmetric, which is so
// where both halves name the same registers (no number is compared), and which instructions see the parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "interface.hpp"

namespace polymargin {

struct ProgramArrays {
  std::int32_t inputs = 0, parameters = 0, registers = 0, value_code = 0;
  std::vector<Instruction> code;
  std::vector<std::int32_t> arguments;
  std::vector<double> coefficient_hi, coefficient_lo, constant_hi, constant_lo;
  std::vector<std::int32_t> value_registers, jacobian_registers;
};

class OwnedProgram {
 public:
  explicit OwnedProgram(ProgramArrays arrays) : arrays_(std::move(arrays)) {
    check();
    derive_motion();
    const ProgramArrays& a = arrays_;
    program_.inputs = a.inputs;
    program_.parameters = a.parameters;
    program_.constants = static_cast<std::int32_t>(a.constant_hi.size());
    program_.registers = a.registers;
    program_.code_length = static_cast<std::int32_t>(a.code.size());
    program_.value_code = a.value_code;
    program_.motion_length = static_cast<std::int32_t>(motion_.size());
    program_.symmetric = jacobian_is_symmetric();
    program_.code = a.code.data();
    program_.motion = motion_.data();
    program_.arguments = a.arguments.data();
    program_.coefficient_hi = a.coefficient_hi.data();
    program_.coefficient_lo = a.coefficient_lo.data();
    program_.constant_hi = a.constant_hi.data();
    program_.constant_lo = a.constant_lo.data();
    program_.value_registers = a.value_registers.data();
    program_.jacobian_registers = a.jacobian_registers.data();
  }
  OwnedProgram(const OwnedProgram&) = delete;  // program_ points into this object
  OwnedProgram& operator=(const OwnedProgram&) = delete;

  const Program& get() const { return program_; }

 private:
  static void require(bool condition) {
    if (!condition) throw std::invalid_argument("program: an index lies outside its array");
  }
  void require_registers(std::int32_t first, std::int64_t count) const {
    require(0 <= first && first + count <= arrays_.registers);
  }
  void require_arguments(const Instruction& step, std::int64_t count) const {
    require(step.arguments >= 0 && step.arguments + count <= static_cast<std::int64_t>(arrays_.arguments.size()));
  }

  void check() const {
    const ProgramArrays& a = arrays_;
    require(a.inputs > 0 && a.parameters >= 0);
    require(std::int64_t(a.inputs) + a.parameters + static_cast<std::int64_t>(a.constant_hi.size()) <= a.registers);
    require(0 <= a.value_code && a.value_code <= static_cast<std::int64_t>(a.code.size()));
    require(a.coefficient_lo.size() == a.coefficient_hi.size() && a.constant_lo.size() == a.constant_hi.size());
    require(a.value_registers.size() == static_cast<std::size_t>(a.inputs));
    require(a.jacobian_registers.size() == static_cast<std::size_t>(a.inputs) * a.inputs);
    for (std::int32_t index : a.value_registers) require_registers(index, 1);
    for (std::int32_t index : a.jacobian_registers)
      if (index >= 0) require_registers(index, 1);
    for (std::int32_t index : a.arguments) require_registers(index, 1);
    for (const Instruction& step : a.code) {
      require(step.rows > 0 && step.columns >= 0 && step.coefficients >= 0);
      require_registers(step.target, step.rows);
      switch (step.operation) {
        case Operation::linear:
        case Operation::single_rows:
          require_arguments(step, std::int64_t(step.columns) * arguments_per_column(step));
          require(step.coefficients + std::int64_t(step.rows) * (std::int64_t(step.columns) + 1) <=
                  static_cast<std::int64_t>(a.coefficient_hi.size()));
          break;
        case Operation::product: require_arguments(step, 2 * std::int64_t(step.rows)); break;
        case Operation::square: require_arguments(step, step.rows); break;
        default: require(false);
      }
    }
  }

  bool jacobian_is_symmetric() const {
    const std::size_t n = arrays_.inputs;
    const auto entry = [&](std::size_t i, std::size_t j) { return arrays_.jacobian_registers[i * n + j]; };
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (entry(i, j) != entry(j, i) && (entry(i, j) >= 0 || entry(j, i) >= 0)) return false;
    return true;
  }

  static std::int32_t arguments_per_column(const Instruction& step) {
    return step.operation == Operation::linear ? 1 : step.rows;
  }
  static std::int32_t column_count(const Instruction& step) {
    switch (step.operation) {
      case Operation::product: return 2;
      case Operation::square: return 1;
      default: return step.columns;
    }
  }

  // Instructions whose result changes with the parameters; linear ones lose the columns that do not.
  void derive_motion() {
    std::vector<bool> moves(arrays_.registers, false);
    for (std::int32_t p = 0; p < arrays_.parameters; ++p) moves[arrays_.inputs + p] = true;
    for (std::int32_t c = 0; c < arrays_.value_code; ++c) {
      Instruction step = arrays_.code[c];
      std::vector<std::int32_t> moving;
      for (std::int32_t column = 0; column < column_count(step); ++column)
        if (column_moves(step, column, moves)) moving.push_back(column);
      if (moving.empty()) continue;
      for (std::int32_t row = 0; row < step.rows; ++row) moves[step.target + row] = true;
      const bool linear = step.operation == Operation::linear || step.operation == Operation::single_rows;
      motion_.push_back(linear ? restricted(step, moving) : step);
    }
  }

  bool column_moves(const Instruction& step, std::int32_t column, const std::vector<bool>& moves) const {
    const std::int32_t count = arguments_per_column(step);
    const std::int32_t* first = arrays_.arguments.data() + step.arguments + column * count;
    return std::any_of(first, first + count, [&](std::int32_t argument) { return moves[argument]; });
  }

  // The instruction with some of its columns, and without constants, which do not move.
  Instruction restricted(const Instruction& step, const std::vector<std::int32_t>& columns) {
    Instruction result = step;
    result.columns = static_cast<std::int32_t>(columns.size());
    result.arguments = static_cast<std::int32_t>(arrays_.arguments.size());
    result.coefficients = static_cast<std::int32_t>(arrays_.coefficient_hi.size());
    append_columns(arrays_.arguments, step.arguments, arguments_per_column(step), columns);
    for (std::vector<double>* part : {&arrays_.coefficient_hi, &arrays_.coefficient_lo}) {
      part->insert(part->end(), step.rows, 0.0);
      append_columns(*part, step.coefficients + step.rows, step.rows, columns);
    }
    return result;
  }

  template <class T>
  static void append_columns(std::vector<T>& all, std::int32_t first, std::int32_t height, const std::vector<std::int32_t>& columns) {
    for (std::int32_t column : columns)
      for (std::int32_t row = 0; row < height; ++row) all.push_back(T(all[first + std::size_t(column) * height + row]));
  }

  ProgramArrays arrays_;
  std::vector<Instruction> motion_;
  Program program_;
};

}  // namespace polymargin
