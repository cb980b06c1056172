// Python bindings of quadrics and their nearest points: check the arrays, release the GIL, call a kernel.
#include <stdexcept>

#include "arrays.hpp"
#include "workers.hpp"

namespace polymargin {
namespace {

std::size_t padded(std::size_t size) { return (size + kPadding - 1) / kPadding * kPadding; }

// What a quadric consists of, as rows of numbers that go in; `bends` is None for a form.
Quadric quadric_of(std::size_t inputs, const Rows& weights, const Doubles& bias, const std::optional<Doubles>& bends, const Doubles& slopes,
                   double constant, const Rows& map, const Doubles& eigenvalues, const Doubles& sizes) {
  const std::size_t hidden = bends ? map.shape(0) : inputs, size = eigenvalues.size();
  if (size == 0 || inputs == 0 || weights.shape(0) != inputs || weights.shape(1) != padded(hidden) || slopes.size() != padded(hidden) ||
      bias.size() != (bends ? padded(hidden) : padded(size)) || (bends && bends->size() != padded(hidden)) || map.shape(0) != hidden ||
      map.shape(1) != padded(size) || sizes.size() != 3)
    throw std::invalid_argument("quadric: expected matrices with a row for each of " + std::to_string(inputs) +
                                " inputs or hidden values, padded, and vectors that fit them");
  Quadric quadric{};
  quadric.inputs = static_cast<std::int64_t>(inputs);
  quadric.hidden = static_cast<std::int64_t>(hidden);
  quadric.size = static_cast<std::int64_t>(size);
  quadric.weights = weights.data();
  quadric.bias = bias.data();
  quadric.bends = bends ? bends->data() : nullptr;
  quadric.slopes = slopes.data();
  quadric.constant = constant;
  quadric.map = map.data();
  quadric.eigenvalues = eigenvalues.data();
  quadric.sizes = sizes.data();
  return quadric;
}

nb::tuple view(Rows points, Rows weights, Doubles bias, std::optional<Doubles> bends, Doubles slopes, double constant, Rows map,
               Doubles eigenvalues, Doubles sizes, std::optional<std::string> instruction_set) {
  const Quadric quadric = quadric_of(points.shape(1), weights, bias, bends, slopes, constant, map, eigenvalues, sizes);
  Output<double> values({points.shape(0)}), gradients({points.shape(0), eigenvalues.size()});
  const Kernels& kernels = choose(instruction_set);
  {
    const nb::gil_scoped_release release;
    const Workspaces workspace(1, kernels.quadric_bytes(quadric));
    kernels.view(quadric, points.data(), static_cast<std::int64_t>(points.shape(0)), values.data, gradients.data, workspace[0]);
  }
  return nb::make_tuple(values.array, gradients.array);
}

nb::object product(Rows rows, Rows matrix, std::optional<std::string> instruction_set) {
  if (matrix.shape(0) != rows.shape(1) || matrix.shape(1) != padded(matrix.shape(1)))
    throw std::invalid_argument("product: expected a padded matrix with a row for each of " + std::to_string(rows.shape(1)) + " columns");
  Output<double> out({rows.shape(0), matrix.shape(1)});
  const Kernels& kernels = choose(instruction_set);
  {
    const nb::gil_scoped_release release;
    kernels.product(rows.data(), static_cast<std::int64_t>(rows.shape(0)), static_cast<std::int64_t>(rows.shape(1)), matrix.data(),
                    static_cast<std::int64_t>(matrix.shape(1)), out.data);
  }
  return out.array;
}

// One quadric, everything that its nearest points are found by, and the memory that this lies in.
class NearestRules {
 public:
  NearestRules(Rows weights, Doubles bias, std::optional<Doubles> bends, Doubles slopes, double constant, Rows map, Doubles eigenvalues,
               Doubles sizes, Rows rotation, std::optional<Rows> basis, Doubles fixed, double least, double tolerance, double cluster_tolerance,
               double touch_tolerance, double noise, double largest_doubt, double largest_correction, double largest_miss)
      : weights_(weights), bias_(bias), bends_(bends), slopes_(slopes), map_(map), eigenvalues_(eigenvalues), sizes_(sizes), rotation_(rotation),
        basis_(basis), fixed_(fixed) {
    job_.quadric = quadric_of(weights.shape(0), weights, bias, bends, slopes, constant, map, eigenvalues, sizes);
    const std::size_t size = eigenvalues.size(), inputs = weights.shape(0);
    if (rotation.shape(0) != size || rotation.shape(1) != map.shape(1) || fixed.size() != size ||
        (basis ? basis->shape(0) != size || basis->shape(1) != padded(inputs) : size != inputs))
      throw std::invalid_argument("nearest: expected a rotation and a basis with a row for each of " + std::to_string(size) + " eigenvalues, padded");
    job_.rotation = rotation.data();
    job_.basis = basis ? basis->data() : nullptr;
    job_.fixed = fixed.data();
    job_.least = least;
    job_.tolerance = tolerance;
    job_.cluster_tolerance = cluster_tolerance;
    job_.touch_tolerance = touch_tolerance;
    job_.noise = noise;
    job_.largest_doubt = largest_doubt;
    job_.largest_correction = largest_correction;
    job_.largest_miss = largest_miss;
  }
  const NearestJob& job() const { return job_; }

 private:
  Rows weights_;
  Doubles bias_;
  std::optional<Doubles> bends_;
  Doubles slopes_;
  Rows map_;
  Doubles eigenvalues_, sizes_;
  Rows rotation_;
  std::optional<Rows> basis_;
  Doubles fixed_;
  NearestJob job_{};
};

// For each of the rules, the nearest points to some rows of points: `rows` has those of the first, then those of the second, `counts`
// of each, and so has everything that comes out.
nb::tuple nearest(Rows points, nb::sequence rules, Selection counts, Selection rows, int threads, std::optional<std::string> instruction_set) {
  const Kernels& kernels = choose(instruction_set);
  std::vector<NearestJob> jobs;
  std::size_t chosen = 0, entries = 0;
  if (nb::len(rules) != counts.size()) throw std::invalid_argument("nearest: expected as many counts of rows as rules");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    jobs.push_back(nb::cast<const NearestRules&>(rules[i]).job());
    NearestJob& job = jobs.back();
    if (static_cast<std::size_t>(job.quadric.inputs) != points.shape(1)) throw std::invalid_argument("nearest: expected points with as many entries as there are inputs");
    job.rows = counts.data()[i];
    if (job.rows < 0 || static_cast<std::size_t>(job.rows) > rows.size() - chosen) throw std::invalid_argument("nearest: expected as many rows as are counted");
    chosen += static_cast<std::size_t>(job.rows);
    entries += static_cast<std::size_t>(job.rows * job.quadric.size);
  }
  if (chosen != rows.size()) throw std::invalid_argument("nearest: expected as many rows as are counted");
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (rows.data()[r] < 0 || static_cast<std::size_t>(rows.data()[r]) >= points.shape(0)) throw std::invalid_argument("nearest: row out of range");

  const Output<double> steps({entries}, false), distances({chosen}), multipliers({chosen});
  const Output<std::int8_t> kinds({chosen}), doubtful({chosen});
  std::int64_t first = 0, first_entry = 0;
  for (NearestJob& job : jobs) {
    job.points = points.data();
    job.chosen = rows.data() + first;
    job.kinds = kinds.data + first;
    job.doubtful = doubtful.data + first;
    job.multipliers = multipliers.data + first;
    job.distances = distances.data + first;
    job.steps = steps.data + first_entry;
    first += job.rows;
    first_entry += job.rows * job.quadric.size;
  }
  {
    const nb::gil_scoped_release release;
    run_nearest(kernels, jobs, threads);
  }
  return nb::make_tuple(steps.array, distances.array, multipliers.array, kinds.array, doubtful.array);
}

}  // namespace

void bind_quadrics(nb::module_& module) {
  module.def("view", &view, nb::arg("points"), nb::kw_only(), nb::arg("weights"), nb::arg("bias"), nb::arg("bends").none(), nb::arg("slopes"),
             nb::arg("constant"), nb::arg("map"), nb::arg("eigenvalues"), nb::arg("sizes"), nb::arg("instruction_set") = nb::none());
  module.def("product", &product, nb::arg("rows"), nb::arg("matrix"), nb::arg("instruction_set") = nb::none());
  nb::class_<NearestRules>(module, "NearestRules")
      .def(nb::init<Rows, Doubles, std::optional<Doubles>, Doubles, double, Rows, Doubles, Doubles, Rows, std::optional<Rows>, Doubles, double, double,
                    double, double, double, double, double, double>(),
           nb::kw_only(), nb::arg("weights"), nb::arg("bias"), nb::arg("bends").none(), nb::arg("slopes"), nb::arg("constant"), nb::arg("map"),
           nb::arg("eigenvalues"), nb::arg("sizes"), nb::arg("rotation"), nb::arg("basis").none(), nb::arg("fixed"), nb::arg("least"),
           nb::arg("tolerance"), nb::arg("cluster_tolerance"), nb::arg("touch_tolerance"), nb::arg("noise"), nb::arg("largest_doubt"),
           nb::arg("largest_correction"), nb::arg("largest_miss"));
  module.def("nearest", &nearest, nb::arg("points"), nb::arg("rules"), nb::arg("counts"), nb::arg("rows"), nb::arg("threads") = 1,
             nb::arg("instruction_set") = nb::none());
}

}  // namespace polymargin
