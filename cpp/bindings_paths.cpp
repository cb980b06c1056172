// Python bindings of programs, paths and surveys of their ends: check the arrays, release the GIL, call a kernel.
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "gather.hpp"
#include "program.hpp"
#include "real_zeros.hpp"
#include "survey.hpp"
#include "workers.hpp"

namespace polymargin {
namespace {

using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Code = nb::ndarray<const std::int32_t, nb::shape<-1, 6>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const Complex, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const Complex, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const Complex, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Ends = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> std::vector<T> copy(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}

void make_program(OwnedProgram* self, int inputs, int parameters, int registers, int value_code, Code code,
                  Integers arguments, Doubles coefficient_hi, Doubles coefficient_lo, Doubles constant_hi,
                  Doubles constant_lo, Integers value_registers, Integers jacobian_registers) {
  ProgramArrays arrays;
  arrays.inputs = inputs;
  arrays.parameters = parameters;
  arrays.registers = registers;
  arrays.value_code = value_code;
  const std::int32_t* row = code.data();
  for (std::size_t i = 0; i < code.shape(0); ++i, row += 6) {
    Instruction step;
    step.operation = static_cast<Operation>(row[0]);
    step.target = row[1];
    step.rows = row[2];
    step.columns = row[3];
    step.arguments = row[4];
    step.coefficients = row[5];
    arrays.code.push_back(step);
  }
  arrays.arguments = copy(arguments);
  arrays.coefficient_hi = copy(coefficient_hi);
  arrays.coefficient_lo = copy(coefficient_lo);
  arrays.constant_hi = copy(constant_hi);
  arrays.constant_lo = copy(constant_lo);
  arrays.value_registers = copy(value_registers);
  arrays.jacobian_registers = copy(jacobian_registers);
  new (self) OwnedProgram(std::move(arrays));
}

double* as_doubles(Complex* data) { return reinterpret_cast<double*>(data); }
const double* as_doubles(const Complex* data) { return reinterpret_cast<const double*>(data); }

void require_columns(const Matrix& matrix, std::int32_t columns, const char* what) {
  if (matrix.shape(1) != static_cast<std::size_t>(columns))
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(columns) + " columns, got " +
                                std::to_string(matrix.shape(1)));
}

void require_length(const Vector& vector, std::int32_t length, const char* what) {
  if (vector.size() != static_cast<std::size_t>(length))
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(length) + " entries, got " +
                                std::to_string(vector.size()));
}

bool ask_python() {
  const nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

// Every start point of a program to every target, or the selected ones of these paths, from where they stopped before if that is
// given. It keeps alive what it points to.
class Job {
 public:
  Job(nb::handle_t<OwnedProgram> program, Vector start_parameters, Matrix target_parameters, Matrix start_points,
      std::optional<Selection> selected, std::optional<Points> stopped, std::optional<Rows> remaining)
      : keeps_alive_(nb::borrow(program)), program_(nb::cast<const OwnedProgram&>(program).get()), start_parameters_(start_parameters),
        target_parameters_(target_parameters), start_points_(start_points), selected_(selected), stopped_(stopped), remaining_(remaining) {
    require_columns(start_points_, program_.inputs, "start points");
    require_columns(target_parameters_, program_.parameters, "target parameters");
    require_length(start_parameters_, program_.parameters, "start parameters");
    const auto fits = [this](const auto& array) { return array.shape(0) == targets() && array.shape(1) == starts(); };
    if (stopped_.has_value() != remaining_.has_value() || (stopped_ && !(fits(*stopped_) && fits(*remaining_) && stopped_->shape(2) == size())))
      throw std::invalid_argument("stopped paths: expected points (targets, starts, n) and what remained (targets, starts)");
    if (!selected_) return;
    const auto paths = static_cast<std::int64_t>(starts() * targets());
    for (std::size_t i = 0; i < selected_->size(); ++i)
      if (selected_->data()[i] < 0 || selected_->data()[i] >= paths)
        throw std::invalid_argument("selected paths: index out of range");
  }

  std::size_t starts() const { return start_points_.shape(0); }
  std::size_t targets() const { return target_parameters_.shape(0); }
  std::size_t size() const { return static_cast<std::size_t>(program_.inputs); }

  TrackJob for_core(const TrackerSettings& settings) const {
    TrackJob job{};
    job.program = &program_;
    job.start_parameters = as_doubles(start_parameters_.data());
    job.target_parameters = as_doubles(target_parameters_.data());
    job.start_points = as_doubles(start_points_.data());
    job.starts = static_cast<std::int64_t>(starts());
    job.settings = settings;
    job.selected = selected_ ? selected_->data() : nullptr;
    job.stopped_points = stopped_ ? as_doubles(stopped_->data()) : nullptr;
    job.stopped_remaining = remaining_ ? remaining_->data() : nullptr;
    job.selected_count = static_cast<std::int64_t>(selected_ ? selected_->size() : starts() * targets());
    return job;
  }

 private:
  nb::object keeps_alive_;
  const Program& program_;
  Vector start_parameters_;
  Matrix target_parameters_, start_points_;
  std::optional<Selection> selected_;
  std::optional<Points> stopped_;
  std::optional<Rows> remaining_;
};

// What became of the paths of one job, in new arrays.
struct Results {
  Output<Complex> points;
  Output<std::int32_t> ends, steps, rejections;
  Output<double> remaining, correction, condition;

  Results(const Job& job, TrackJob& core)
      : points({job.targets(), job.starts(), job.size()}), ends({job.targets(), job.starts()}), steps({job.targets(), job.starts()}),
        rejections({job.targets(), job.starts()}), remaining({job.targets(), job.starts()}), correction({job.targets(), job.starts()}),
        condition({job.targets(), job.starts()}) {
    core.points = as_doubles(points.data);
    core.ends = ends.data;
    core.steps = steps.data;
    core.rejections = rejections.data;
    core.remaining = remaining.data;
    core.correction = correction.data;
    core.condition = condition.data;
  }

  nb::dict as_dict() const {
    nb::dict result;
    result["points"] = points.array;
    result["ends"] = ends.array;
    result["steps"] = steps.array;
    result["rejections"] = rejections.array;
    result["remaining"] = remaining.array;
    result["correction"] = correction.array;
    result["condition"] = condition.array;
    return result;
  }
};

nb::list track(nb::sequence jobs, const TrackerSettings& settings, int threads, bool double_double,
               std::optional<std::string> instruction_set) {
  const Kernels& kernels = choose(instruction_set);
  std::vector<TrackJob> queue;
  std::vector<Results> results;
  for (const nb::handle item : jobs) {
    const Job& job = nb::cast<const Job&>(item);
    queue.push_back(job.for_core(settings));
    results.emplace_back(job, queue.back());
  }
  std::vector<std::atomic<std::int64_t>> next(queue.size());  // zeros
  for (std::size_t i = 0; i < queue.size(); ++i) queue[i].next = &next[i];
  bool finished;
  {
    const nb::gil_scoped_release release;
    finished = run_jobs(kernels, queue, threads, double_double, ask_python);
  }
  if (!finished) throw nb::python_error();
  nb::list found;
  for (const Results& result : results) found.append(result.as_dict());
  return found;
}

nb::dict survey_ends(Points points, Ends ends, Rows condition, Matrix targets, Doubles directions, double same, double same_conjugate,
                double real, double clearly_complex, double largest_condition) {
  const std::size_t lists = points.shape(0), count = points.shape(1), size = points.shape(2);
  const auto fits = [&](const auto& array) { return array.shape(0) == lists && array.shape(1) == count; };
  if (size == 0 || !fits(ends) || !fits(condition) || targets.shape(0) != lists || targets.shape(1) + 1 < size || directions.size() != 3 * size)
    throw std::invalid_argument("survey: expected points (T, N, n), ends and conditions (T, N), targets (T, n - 1 or more), directions (3n,)");
  Output<std::int32_t> clear({lists}), real_counts({lists}), unclear({lists});
  Output<double> gaps({lists, 2});
  Output<Complex> chosen({lists, 4, size});
  Lists job{};
  job.points = pairs(points.data());
  job.targets = pairs(targets.data());
  job.ends = ends.data();
  job.condition = condition.data();
  job.directions = directions.data();
  job.clear = clear.data;
  job.real_counts = real_counts.data;
  job.unclear = unclear.data;
  job.gaps = gaps.data;
  job.chosen = pairs(chosen.data);
  job.list_count = static_cast<unsigned>(lists);
  job.point_count = static_cast<unsigned>(count);
  job.size = static_cast<unsigned>(size);
  job.parameters = static_cast<unsigned>(targets.shape(1));
  job.same = same;
  job.same_conjugate = same_conjugate;
  job.real = real;
  job.clearly_complex = clearly_complex;
  job.largest_condition = largest_condition;
  for (std::size_t i = 0; i < 2 * size; ++i) job.reach += same * std::abs(directions.data()[i]);
  {
    const nb::gil_scoped_release release;
    survey(job);
  }
  nb::dict told;
  told["clear"] = clear.array;
  told["real_counts"] = real_counts.array;
  told["unclear"] = unclear.array;
  told["gaps"] = gaps.array;
  told["chosen"] = chosen.array;
  return told;
}

// Writes into `known`, `margins`, `counts` and `real_counts`.
void gather(nb::ndarray<Complex, nb::ndim<3>, nb::c_contig, nb::device::cpu> known, nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> margins,
            nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> counts,
            nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> real_counts, Selection lists, Points found,
            nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu> usable, Rows corrections, double real, double same, double multiple,
            int threads) {
  const std::size_t rows = found.shape(0), total = known.shape(0);
  const auto beside = [&](const auto& array, const auto& points) { return array.shape(0) == points.shape(0) && array.shape(1) == points.shape(1); };
  bool fits = lists.size() == rows && beside(usable, found) && beside(corrections, found) && found.shape(2) > 0 && beside(margins, known);
  fits = fits && known.shape(2) == found.shape(2) && counts.size() == total && real_counts.size() == total;
  std::vector<bool> taken(total);
  for (std::size_t i = 0; fits && i < rows; ++i) {
    const std::int64_t list = lists.data()[i];
    fits = list >= 0 && list < static_cast<std::int64_t>(total) && !taken[list];
    if (fits) taken[list] = true;
  }
  if (!fits) throw std::invalid_argument("gather: expected lists (L, N, n) with counts (L,), and points (T, M, n) of T different lists");
  Gathering job{};
  job.rows = static_cast<std::int64_t>(rows);
  job.ends = static_cast<std::int64_t>(found.shape(1));
  job.most = static_cast<std::int64_t>(known.shape(1));
  job.size = static_cast<std::int64_t>(known.shape(2));
  job.lists = lists.data();
  job.found = found.data();
  job.usable = usable.data();
  job.corrections = corrections.data();
  job.known = known.data();
  job.margins = margins.data();
  job.counts = counts.data();
  job.real_counts = real_counts.data();
  job.real = real;
  job.same = same;
  job.multiple = multiple;
  const nb::gil_scoped_release release;
  run_gathering(job, threads);
}

nb::object count_zeros(Rows coefficients, int threads) {
  const std::size_t rows = coefficients.shape(0), length = coefficients.shape(1);
  if (length < 2 || length > RealZeros::kLargestDegree + 1)
    throw std::invalid_argument("coefficients: expected polynomials of degree 1 to " + std::to_string(RealZeros::kLargestDegree));
  Output<std::int32_t> counts({rows});
  {
    const nb::gil_scoped_release release;
    count_real_zeros(coefficients.data(), static_cast<std::int64_t>(rows), static_cast<int>(length) - 1, counts.data, threads);
  }
  return counts.array;
}

nb::tuple evaluate(const OwnedProgram& owned, Matrix inputs, Vector parameters, bool double_double,
                   std::optional<std::string> instruction_set) {
  const Program& program = owned.get();
  require_columns(inputs, program.inputs, "inputs");
  require_length(parameters, program.parameters, "parameters");
  const std::size_t points = inputs.shape(0), size = program.inputs;
  Output<Complex> values({points, size}), jacobians({points, size, size});
  const Kernels& kernels = choose(instruction_set);
  {
    const nb::gil_scoped_release release;
    const Workspaces workspace(1, kernels.workspace_bytes(program, double_double));
    kernels.evaluate(program, as_doubles(inputs.data()), as_doubles(parameters.data()), static_cast<std::int64_t>(points),
                     as_doubles(values.data), as_doubles(jacobians.data), workspace[0], double_double);
  }
  return nb::make_tuple(values.array, jacobians.array);
}

}  // namespace

void bind_paths(nb::module_& module) {
  nb::class_<OwnedProgram>(module, "Program")
      .def("__init__", &make_program, nb::kw_only(), nb::arg("inputs"), nb::arg("parameters"), nb::arg("registers"), nb::arg("value_code"), nb::arg("code"),
           nb::arg("arguments"), nb::arg("coefficient_hi"), nb::arg("coefficient_lo"), nb::arg("constant_hi"),
           nb::arg("constant_lo"), nb::arg("value_registers"), nb::arg("jacobian_registers"));

  nb::class_<TrackerSettings>(module, "TrackerSettings")
      .def(
          "__init__",
          [](TrackerSettings* self, double contraction, double correction, double change, double accuracy,
             double final_accuracy, double smallest_step, double infinity, std::int32_t most_steps) {
            new (self) TrackerSettings{};
            self->contraction = contraction;
            self->correction = correction;
            self->change = change;
            self->accuracy = accuracy;
            self->final_accuracy = final_accuracy;
            self->smallest_step = smallest_step;
            self->infinity = infinity;
            self->most_steps = most_steps;
          },
          nb::kw_only(), nb::arg("contraction"), nb::arg("correction"), nb::arg("change"),
          nb::arg("accuracy"), nb::arg("final_accuracy"), nb::arg("smallest_step"), nb::arg("infinity"), nb::arg("most_steps"));

  nb::class_<Job>(module, "Job")
      .def(nb::init<nb::handle_t<OwnedProgram>, Vector, Matrix, Matrix, std::optional<Selection>, std::optional<Points>, std::optional<Rows>>(),
           nb::arg("program"), nb::arg("start_parameters"), nb::arg("target_parameters"), nb::arg("start_points"), nb::arg("selected") = nb::none(),
           nb::arg("stopped") = nb::none(), nb::arg("remaining") = nb::none());

  module.def("track", &track, nb::arg("jobs"), nb::arg("settings"), nb::arg("threads") = 1, nb::arg("double_double") = false,
             nb::arg("instruction_set") = nb::none());
  module.def("survey", &survey_ends, nb::arg("points"), nb::arg("ends"), nb::arg("condition"), nb::arg("targets"), nb::arg("directions"), nb::arg("same"),
             nb::arg("same_conjugate"), nb::arg("real"), nb::arg("clearly_complex"), nb::arg("largest_condition"));
  module.def("gather", &gather, nb::arg("known"), nb::arg("margins"), nb::arg("counts"), nb::arg("real_counts"), nb::arg("lists"), nb::arg("found"),
             nb::arg("usable"), nb::arg("corrections"), nb::arg("real"), nb::arg("same"), nb::arg("multiple"), nb::arg("threads") = 1);
  module.def("count_real_zeros", &count_zeros, nb::arg("coefficients"), nb::arg("threads") = 1);
  module.def("evaluate", &evaluate, nb::arg("program"), nb::arg("inputs"), nb::arg("parameters"),
             nb::arg("double_double") = false, nb::arg("instruction_set") = nb::none());
}

}  // namespace polymargin
