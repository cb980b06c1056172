// The predictor: the power series of the path at the current point, continued by Pade fractions.
//
// With x(t) = sum c_k t^k the coefficients follow one after another from a single factorisation,
// J c_k = -[t^k] H(c_0 + ... + c_{k-1} t^{k-1}, p(t)); k = 0 is a Newton correction that comes for
// free. Each coordinate is then continued by the Pade fraction of type (K-1, 1), whose one pole
// imitates the nearest branch point; the ratio of the last coefficients says how far away that is
// (the approach of Telen, Van Barel and Verschelde, SIAM J. Sci. Comput. 2020).
#pragma once

#include "pack.hpp"

namespace PM_ISA {

// A step may leave the trusted part of the disc of convergence as long as the last term stays below this:
// where the path is smooth, the last coefficients are small, noisy, and say nothing about the radius.
constexpr double kSmallTerm = 1e-4;

// Needs the pack evaluated and factored at its point. Returns the longest step worth trying.
template <class Real> Lanes expand_series(Pack<Real>& pack, double trust) {
  using Number = Complex<Real>;
  const int n = pack.size;
  Number* correction = pack.series;
  pack.solve_order(0, correction);
  Lanes size[kOrder + 1];
  for (int k = 1; k <= kOrder; ++k) {
    Number* inputs = pack.order(k);
    Number* coefficient = pack.series + k * n;
    for (int i = 0; i < n; ++i) inputs[i] = zero<Real>();
    for (int p = 0; p < pack.program.parameters; ++p) inputs[n + p] = k == 1 ? pack.velocity[p] : zero<Real>();
    run(pack.program, pack.program.value_code, pack.registers, k);
    pack.solve_order(k, coefficient);
    size[k] = pack.norm(coefficient);
    if (k == kOrder) break;
    for (int i = 0; i < n; ++i) inputs[i] = coefficient[i];
    run(pack.program, pack.program.value_code, pack.registers, k);
  }
  const Lanes last = size[kOrder];
  const Lanes radius = smaller(size[kOrder - 1] / last, square_root(size[kOrder - 2] / last));
  Lanes harmless;
  for (int lane = 0; lane < kLanes; ++lane) harmless[lane] = __builtin_pow(kSmallTerm / last[lane], 1.0 / kOrder);
  return larger(radius * trust, harmless);
}

// candidate := the continuation of the series by `step`.
template <class Real> void predict(Pack<Real>& pack, Lanes step) {
  using Number = Complex<Real>;
  const int n = pack.size;
  const Real h = real_from<Real>(step);
  for (int i = 0; i < n; ++i) {
    const Number last = scaled(pack.series[kOrder * n + i], h);
    const Number before = pack.series[(kOrder - 1) * n + i];
    // before / (1 - last / before), or the plain Taylor sum where the pole would be too close.
    const Number denominator = before - last;
    const Mask pole_is_far = magnitude_squared(last) < 0.64 * magnitude_squared(before);
    Number sum = select(pole_is_far, before * before * reciprocal(denominator), before + last);
    for (int k = kOrder - 2; k >= 1; --k) sum = scaled(sum, h) + pack.series[k * n + i];
    pack.candidate[i] = pack.point[i] + pack.series[i] + scaled(sum, h);
  }
}

}  // namespace PM_ISA
