// The predictor: the cubic through the last two points with their tangents, continued.
//
// With x' = dx/ds, h the last step, r = (next step) / h and D the last change of the point,
//   x(next) = x - h r (1 + r)^2 x' - h r^2 (1 + r) x'(previous) - r^2 (3 + 2 r) D,
// wrong by about x''''/24 step^2 (step + h)^2. It needs nothing that the corrector has not left behind. A path
// without a last step goes along its tangent.
#pragma once

#include "pack.hpp"

namespace PM_ISA {

// candidate := the continuation by `step`; `last` is the step that led to the point, 0 at the start.
template <class Real> void predict(Pack<Real>& pack, Lanes step, Lanes last) {
  const Mask first = last == 0.0;
  const Lanes ratio = select(first, broadcast(0.0), step / select(first, broadcast(1.0), last));
  const Lanes further = ratio + 1.0;
  const Real along = real_from<Real>(step * further * further);
  const Real along_previous = real_from<Real>(step * ratio * further);
  const Real back = real_from<Real>(ratio * ratio * (3.0 + 2.0 * ratio));
  const auto continued = [&](Real now, Real before, Real slope, Real previous_slope) {
    return now - fused(back, now - before, fused(along_previous, previous_slope, along * slope));
  };
  for (int i = 0; i < pack.size; ++i) {
    const Complex<Real> now = pack.point[i], before = pack.previous_point[i];
    const Complex<Real> slope = pack.slope[i], previous_slope = pack.previous_slope[i];
    pack.candidate[i] = {continued(now.re, before.re, slope.re, previous_slope.re),
                         continued(now.im, before.im, slope.im, previous_slope.im)};
  }
}

}  // namespace PM_ISA
