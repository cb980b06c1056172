"use strict";
// Critical points of the distance to a plane curve, followed from a generic complex point to the given point: y − u + λ∇b(y) = 0,
// b(y) = e, with parameters (u, e) on a segment. Complex numbers are pairs in flat arrays; unknowns are (y0, y1, λ).
// The result is null if a path fails or two endpoints coincide.
const solver = (() => {
  const MOST_STEPS = 2000, NEWTON = 3;

  // b, its gradient and its Hessian at a complex point, from coefficients c[i][j] of y0^i y1^j.
  const powers = (re, im, size) => {
    const p = new Float64Array(2 * size);
    p[0] = 1;
    for (let k = 1; k < size; k++) {
      p[2 * k] = p[2 * k - 2] * re - p[2 * k - 1] * im;
      p[2 * k + 1] = p[2 * k - 2] * im + p[2 * k - 1] * re;
    }
    return p;
  };
  const polynomial = (c, z) => {
    const size = c.length, p = powers(z[0], z[1], size), q = powers(z[2], z[3], size);
    const out = new Float64Array(12); // b, b0, b1, b00, b01, b11
    const add = (at, factor, i, j) => {
      out[at] += factor * (p[2 * i] * q[2 * j] - p[2 * i + 1] * q[2 * j + 1]);
      out[at + 1] += factor * (p[2 * i] * q[2 * j + 1] + p[2 * i + 1] * q[2 * j]);
    };
    for (let i = 0; i < size; i++) for (let j = 0; i + j < size; j++) {
      const a = c[i][j];
      if (a === 0) continue;
      add(0, a, i, j);
      if (i > 0) add(2, a * i, i - 1, j);
      if (j > 0) add(4, a * j, i, j - 1);
      if (i > 1) add(6, a * i * (i - 1), i - 2, j);
      if (i > 0 && j > 0) add(8, a * i * j, i - 1, j - 1);
      if (j > 1) add(10, a * j * (j - 1), i, j - 2);
    }
    return out;
  };
  // The 3 × 3 complex system by elimination with pivots; m is row by row with the right-hand side last. False where it is singular.
  const solve3 = (m) => {
    for (let k = 0; k < 3; k++) {
      let pivot = k, size = 0;
      for (let r = k; r < 3; r++) {
        const here = Math.hypot(m[8 * r + 2 * k], m[8 * r + 2 * k + 1]);
        if (here > size) { size = here; pivot = r; }
      }
      if (!(size > 1e-300)) return false;
      if (pivot !== k) for (let j = 0; j < 8; j++) { const t = m[8 * k + j]; m[8 * k + j] = m[8 * pivot + j]; m[8 * pivot + j] = t; }
      const re = m[8 * k + 2 * k], im = m[8 * k + 2 * k + 1], n = re * re + im * im;
      for (let j = k; j < 4; j++) {
        const x = m[8 * k + 2 * j], y = m[8 * k + 2 * j + 1];
        m[8 * k + 2 * j] = (x * re + y * im) / n;
        m[8 * k + 2 * j + 1] = (y * re - x * im) / n;
      }
      for (let r = 0; r < 3; r++) {
        if (r === k) continue;
        const fr = m[8 * r + 2 * k], fi = m[8 * r + 2 * k + 1];
        if (fr === 0 && fi === 0) continue;
        for (let j = k; j < 4; j++) {
          const x = m[8 * k + 2 * j], y = m[8 * k + 2 * j + 1];
          m[8 * r + 2 * j] -= fr * x - fi * y;
          m[8 * r + 2 * j + 1] -= fr * y + fi * x;
        }
      }
    }
    return true;
  };
  // Jacobian of the equations with a right-hand side: the residual at parameters p, or the derivative along them.
  const system = (c, z, p, direction) => {
    const b = polynomial(c, z), m = new Float64Array(24), lr = z[4], li = z[5];
    const times = (at, k, one) => { m[at] = b[k] * lr - b[k + 1] * li + one; m[at + 1] = b[k] * li + b[k + 1] * lr; };
    times(0, 6, 1); times(2, 8, 0); times(8, 8, 0); times(10, 10, 1);
    for (let k = 0; k < 2; k++) { m[4 + k] = m[16 + k] = b[2 + k]; m[12 + k] = m[18 + k] = b[4 + k]; }
    if (direction) { // J z' = (u', u', e')
      for (let k = 0; k < 2; k++) { m[6 + k] = direction[k]; m[14 + k] = direction[2 + k]; m[22 + k] = direction[4 + k]; }
    } else {
      for (let r = 0; r < 2; r++) {
        const gr = b[2 + 2 * r], gi = b[3 + 2 * r];
        m[8 * r + 6] = -(z[2 * r] - p[2 * r] + lr * gr - li * gi);
        m[8 * r + 7] = -(z[2 * r + 1] - p[2 * r + 1] + lr * gi + li * gr);
      }
      m[22] = -(b[0] - p[4]);
      m[23] = -(b[1] - p[5]);
    }
    if (!solve3(m)) return null;
    return [m[6], m[7], m[14], m[15], m[22], m[23]];
  };
  const norm = (v) => Math.hypot(...v);
  const plus = (z, s, v) => z.map((x, k) => x + s * v[k]);
  const newton = (c, z, p, tolerance, most) => {
    let last = Infinity;
    for (let k = 0; k < most; k++) {
      const step = system(c, z, p, null);
      if (!step) return null;
      z = plus(z, 1, step);
      const size = norm(step) / (1 + norm(z));
      if (!Number.isFinite(size)) return null;
      if (size <= tolerance) return z;
      if (k > 0 && size > 0.5 * last) return null;
      last = size;
    }
    return null;
  };
  const follow = (c, start, from, to, tolerance, largest) => {
    const direction = to.map((x, k) => x - from[k]);
    let z = start, t = 0, h = largest;
    for (let steps = 0; t < 1; steps++) {
      if (steps > MOST_STEPS || h < 1e-9) return null;
      if (t + h > 1) h = 1 - t;
      const at = (s) => from.map((x, k) => x + s * direction[k]);
      const k1 = system(c, z, null, direction);
      const k2 = k1 && system(c, plus(z, h / 2, k1), null, direction);
      const k3 = k2 && system(c, plus(z, h / 2, k2), null, direction);
      const k4 = k3 && system(c, plus(z, h, k3), null, direction);
      const guess = k4 && z.map((x, k) => x + h / 6 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]));
      const next = guess && newton(c, guess, at(t + h), tolerance, NEWTON);
      // A guess that Newton moves far may belong to another path.
      if (next && norm(plus(next, -1, guess)) <= 1e-3 * (1 + norm(next))) { z = next; t += h; h = Math.min(2 * h, largest); } else h /= 2;
    }
    return newton(c, z, to, 1e-13, 12) || newton(c, z, to, 1e-9, 12);
  };
  const distinct = (ends) => ends.every((a, i) => ends.every((b, j) => j <= i || norm(plus(a, -1, b)) > 1e-7 * (1 + norm(a))));

  // All critical points for a point u of the plane: { total, real: [[x, y, distance], …] nearest first }, or null.
  const criticalPoints = (pair, u) => {
    const { coefficients: c, basis: q, centre, scale, parameters: from } = pair;
    const d = [u[0] - centre[0], u[1] - centre[1]];
    const v = [0, 1].map((k) => (d[0] * q[0][k] + d[1] * q[1][k]) / scale);
    const to = [v[0], 0, v[1], 0, 0, 0];
    for (const [tolerance, largest] of [[1e-7, 0.2], [1e-9, 0.05], [1e-10, 0.01]]) {
      const ends = pair.starts.map((start) => follow(c, start, from, to, tolerance, largest));
      if (ends.some((end) => end === null) || !distinct(ends)) continue;
      const isReal = (z) => Math.hypot(z[1], z[3], z[5]) <= 1e-8 * (1 + norm(z));
      const found = ends.filter(isReal);
      if ((ends.length - found.length) % 2) continue; // complex ones come in pairs
      const real = found.map((z) => {
        const y = [z[0], z[2]], at = [0, 1].map((r) => centre[r] + scale * (q[r][0] * y[0] + q[r][1] * y[1]));
        return [at[0], at[1], scale * Math.hypot(y[0] - v[0], y[1] - v[1])];
      });
      return { total: ends.length, real: real.sort((a, b) => a[2] - b[2]) };
    }
    return null;
  };
  const value = (c, x, y) => { // Horner in both variables
    let sum = 0;
    for (let i = c.length - 1; i >= 0; i--) {
      let inner = 0;
      for (let j = c.length - 1 - i; j >= 0; j--) inner = inner * y + c[i][j];
      sum = sum * x + inner;
    }
    return sum;
  };

  const at = (data, place) => {
    const y = [(place[0] - data.middle[0]) / data.half, (place[1] - data.middle[1]) / data.half];
    const logits = data.logits.map((c) => value(c, y[0], y[1]));
    const label = logits.indexOf(Math.max(...logits));
    const rivals = [];
    let lost = false;
    for (const pair of data.pairs) {
      if (!pair.classes.includes(label)) continue;
      const rival = pair.classes[0] === label ? pair.classes[1] : pair.classes[0];
      const found = criticalPoints(pair, place);
      if (!found) { lost = true; rivals.push({ rival, lower: null, upper: null, complex: pair.starts.length, real: null, points: [] }); continue; }
      const distance = found.real.length ? found.real[0][2] : "inf";
      rivals.push({ rival, lower: distance, upper: distance, complex: found.total, real: found.real.length, points: found.real.map(([a, b]) => [a, b, 0]) });
    }
    const known = rivals.filter((r) => typeof r.upper === "number").sort((a, b) => a.upper - b.upper);
    const best = lost ? undefined : known[0];
    const note = lost ? "Two critical points nearly merge here, or a path failed: no answer at this place."
      : "This page followed all critical points in floating point; `polymargin margin` confirms the answer in exact arithmetic.";
    return {
      place, class: label, rival: best ? best.rival : null, standing: lost ? "FAILED" : "UNCONFIRMED", notes: [note],
      lower: best ? best.lower : lost ? null : "inf", upper: best ? best.upper : lost ? null : "inf",
      nearest: best ? best.points[0] : null, tied: best ? known.filter((r) => r.upper <= best.upper * (1 + 1e-6)).map((r) => r.rival) : [], rivals,
    };
  };
  const field = (data, window, size) => {
    const values = data.logits.map(() => new Float32Array(size * size));
    for (let row = 0; row < size; row++) for (let column = 0; column < size; column++) {
      const s = window[0] + (window[1] - window[0]) * column / (size - 1), t = window[2] + (window[3] - window[2]) * row / (size - 1);
      const y = [(s - data.middle[0]) / data.half, (t - data.middle[1]) / data.half];
      const logits = data.logits.map((c) => value(c, y[0], y[1])), top = Math.max(...logits);
      logits.forEach((x, k) => { values[k][row * size + column] = x - top; });
    }
    return { size, classes: values.length, window, grids: values };
  };
  return { at, field, criticalPoints };
})();
