// What a list of ends says at a glance: one block of threads per list, or one thread of the CPU (cpp/survey.hpp).
//
// Is every end regular, no two of them the same, and the list closed under conjugation? If so, how many points are real, which
// of these is nearest to the target's point, and which points nearly merge? Equal points and conjugates are found by sorting along
// a fixed direction. Every lane looks at some of the points; what they find meets in shared memory.

// gpu/surveys.py has the same structure, field by field.
struct Lists {
  const Complex *points, *targets;  // (lists, points, size), (lists, parameters)
  const int* ends;
  const double *condition, *directions;  // 2 * size entries to tell points apart by, size for conjugates
  int *clear, *real_counts, *unclear;
  double* gaps;     // of the closest conjugates, of the closest real points
  Complex* chosen;  // (lists, 4, size): the nearest real point, the point nearest to its conjugate, the two real points
  unsigned list_count, point_count, size, parameters, slots;
  double same, same_conjugate, real, clearly_complex, largest_condition, reach;
};

constexpr int kRegularEnd = 0;                // as the follower and the CPU core call it
constexpr double kNothing = 1e300;            // instead of a distance, where there is no point
constexpr unsigned kPlace = (1u << 30) - 1;   // the rest of an entry is its group
constexpr unsigned kUpperHalf = 0, kLowerHalf = 1, kReal = 2, kEmpty = 3;

// The number of slots to sort in is a power of two.
struct Surveyor {
  const Lists& job;
  double* keys;       // one per slot
  double* best;       // one per lane
  unsigned* entries;  // one per slot: group and place of a point
  unsigned* owners;   // one per lane
  unsigned* counts;   // doubts, nearly real points, points of each group
  unsigned lane;
  const Complex *points, *target;

  PM_DEVICE void survey(unsigned list) {
    points = job.points + static_cast<long long>(list) * job.point_count * job.size;
    target = job.targets + static_cast<long long>(list) * job.parameters;
    const int* ends = job.ends + static_cast<long long>(list) * job.point_count;
    const double* condition = job.condition + static_cast<long long>(list) * job.point_count;
    if (lane == 0)
      for (int k = 0; k < kCounts; ++k) counts[k] = 0;
    block_barrier();
    double nearest = kNothing, imaginary = kNothing;
    unsigned nearest_place = 0, imaginary_place = 0;
    for (unsigned p = lane; p < job.point_count; p += PM_THREADS) {
      if (ends[p] != kRegularEnd || !(condition[p] < job.largest_condition)) add_to(counts + kDoubts, 1u);
      look_at(p, nearest, nearest_place, imaginary, imaginary_place);
    }
    for (unsigned slot = job.point_count + lane; slot < job.slots; slot += PM_THREADS) entries[slot] = kEmpty << 30;
    block_barrier();
    if (counts[kDoubts] == 0) {
      sort();
      find_equal();
      block_barrier();
    }
    if (counts[kDoubts] == 0) {
      for (unsigned p = lane; p < job.point_count; p += PM_THREADS) sort_by_half(p);
      block_barrier();
      sort();
      match_conjugates();
      block_barrier();
    }
    const bool clear = counts[kDoubts] == 0;
    if (lane == 0) {
      job.clear[list] = clear;
      job.real_counts[list] = static_cast<int>(counts[kGroups + kReal]);
      job.unclear[list] = static_cast<int>(counts[kNearlyReal]);
    }
    if (clear) {  // the same for all lanes
      keep(list, 0, meet(nearest, nearest_place));
      keep(list, 1, meet(imaginary, imaginary_place));
      write_gap(list, 0);
      closest_reals(list);
    }
    block_barrier();
  }

 private:
  static constexpr int kDoubts = 0, kNearlyReal = 1, kGroups = 2, kCounts = 6;

  PM_DEVICE Complex at(unsigned place, unsigned j) const { return points[static_cast<long long>(place) * job.size + j]; }
  PM_DEVICE unsigned place(unsigned slot) const { return entries[slot] & kPlace; }

  // What differences are measured against: 1 + the largest of the first `length` coordinates.
  PM_DEVICE double size_of(unsigned place, unsigned length) const {
    double largest = 0.0;
    for (unsigned j = 0; j < length; ++j) largest = largest_or_nan(largest, magnitude_squared(at(place, j)));
    return 1.0 + root(largest);
  }

  PM_DEVICE void look_at(unsigned p, double& nearest, unsigned& nearest_place, double& imaginary, unsigned& imaginary_place) {
    double key = 0.0, largest_imaginary = 0.0, apart = 0.0, distance = 0.0;
    for (unsigned j = 0; j < job.size; ++j) {
      const Complex x = at(p, j);
      key += job.directions[2 * j] * x.re + job.directions[2 * j + 1] * x.im;
      largest_imaginary = largest_or_nan(largest_imaginary, x.im < 0.0 ? -x.im : x.im);
      if (j + 1 < job.size) {
        const double step = x.re - target[j].re;
        distance += step * step;
        apart += x.im * x.im;
      }
    }
    keys[p] = key;
    const double size = size_of(p, job.size);
    const bool real = largest_imaginary <= job.real * size;
    entries[p] = p;
    if (!(size < kNothing)) add_to(counts + kDoubts, 1u);
    if (real && distance < nearest) {
      nearest = distance;
      nearest_place = p;
    }
    if (real) return;
    if (largest_imaginary < job.clearly_complex * size) add_to(counts + kNearlyReal, 1u);
    const double gap = 2.0 * root(apart) / size_of(p, job.size - 1);
    if (gap < imaginary) {
      imaginary = gap;
      imaginary_place = p;
    }
  }

  // Points in order of the projection: equal ones are neighbours, up to others that happen to project to the same place.
  PM_DEVICE void find_equal() {
    for (unsigned slot = lane; slot + 1 < job.point_count; slot += PM_THREADS) {
      const unsigned first = place(slot);
      const double size = size_of(first, job.size);
      for (unsigned next = slot + 1; next < job.point_count && !(keys[next] - keys[slot] > job.reach * size); ++next)
        if (!(apart(first, place(next), 1.0) > job.same * size)) add_to(counts + kDoubts, 1u);
    }
  }

  // The largest difference of two points, or of one from the conjugate of the other.
  PM_DEVICE double apart(unsigned first, unsigned second, double sign) const {
    double largest = 0.0;
    for (unsigned j = 0; j < job.size; ++j) {
      const Complex a = at(first, j), b = at(second, j);
      largest = largest_or_nan(largest, magnitude_squared(Complex{a.re - b.re, a.im - sign * b.im}));
    }
    return root(largest);
  }

  // Upper and lower half of a functional, each by its real part: partners are then as far from the beginning of their halves.
  PM_DEVICE void sort_by_half(unsigned p) {
    Complex key = {0.0, 0.0};
    double largest_imaginary = 0.0;
    for (unsigned j = 0; j < job.size; ++j) {
      const Complex x = at(p, j);
      key = add_scaled(job.directions[2 * job.size + j], x, key);
      largest_imaginary = largest_or_nan(largest_imaginary, x.im < 0.0 ? -x.im : x.im);
    }
    const bool real = largest_imaginary <= job.real * size_of(p, job.size);
    const unsigned group = real ? kReal : key.im > 0.0 ? kUpperHalf : kLowerHalf;
    keys[p] = key.re;
    entries[p] = p | group << 30;
    add_to(counts + kGroups + group, 1u);
  }

  PM_DEVICE void match_conjugates() {
    const unsigned half = counts[kGroups + kUpperHalf];
    if (half != counts[kGroups + kLowerHalf]) {
      if (lane == 0) add_to(counts + kDoubts, 1u);
      return;
    }
    for (unsigned slot = lane; slot < half; slot += PM_THREADS) {
      const unsigned first = place(slot), second = place(half + slot);
      if (!(apart(first, second, -1.0) <= job.same_conjugate * size_of(first, job.size))) add_to(counts + kDoubts, 1u);
    }
  }

  // After `match_conjugates` the real points lie behind both halves.
  PM_DEVICE void closest_reals(unsigned list) {
    const unsigned begin = 2 * counts[kGroups + kUpperHalf], count = counts[kGroups + kReal];
    double least = kNothing;
    unsigned pair = 0;
    for (unsigned k = lane; k < count * count; k += PM_THREADS) {
      const unsigned first = place(begin + k / count), second = place(begin + k % count);
      if (first == second) continue;
      double square = 0.0, largest = 0.0;
      for (unsigned j = 0; j + 1 < job.size; ++j) {
        const double a = at(first, j).re, b = at(second, j).re;
        square += (a - b) * (a - b);
        largest = larger(largest, b < 0.0 ? -b : b);
      }
      const double gap = root(square) / (1.0 + largest);
      if (gap < least) {
        least = gap;
        pair = k;
      }
    }
    pair = meet(least, pair);
    write_gap(list, 1);
    keep(list, 2, count ? place(begin + pair / count) : 0);
    keep(list, 3, count ? place(begin + pair % count) : 0);
  }

  // The place that belongs to the least value of all lanes; the value itself is left in best[0].
  PM_DEVICE unsigned meet(double value, unsigned place) {
    block_barrier();
    best[lane] = value;
    owners[lane] = place;
    block_barrier();
    for (unsigned half = PM_THREADS / 2; half > 0; half /= 2) {
      if (lane < half && best[lane + half] < best[lane]) {
        best[lane] = best[lane + half];
        owners[lane] = owners[lane + half];
      }
      block_barrier();
    }
    return owners[0];
  }
  PM_DEVICE void write_gap(unsigned list, unsigned which) {
    if (lane == 0) job.gaps[2ll * list + which] = best[0] < kNothing ? best[0] : infinite();
  }
  PM_DEVICE void keep(unsigned list, unsigned which, unsigned place) {
    for (unsigned j = lane; j < job.size; j += PM_THREADS) job.chosen[(4ll * list + which) * job.size + j] = at(place, j);
  }

  PM_DEVICE bool before(unsigned first, unsigned second) const {
    const unsigned one = entries[first] >> 30, other = entries[second] >> 30;
    return one != other ? one < other : one != kEmpty && keys[first] < keys[second];
  }
#if defined(PM_ONE_LANE)
  void sort() { sort_slots(keys, entries, job.slots); }
#else
  // Bitonic: every comparison has its place, so lanes meet at barriers alone.
  PM_DEVICE void sort() {
    for (unsigned run = 2; run <= job.slots; run *= 2)
      for (unsigned step = run / 2; step > 0; step /= 2) {
        for (unsigned slot = lane; slot < job.slots; slot += PM_THREADS) {
          const unsigned other = slot ^ step;
          if (other > slot && ((slot & run) == 0 ? before(other, slot) : before(slot, other))) {
            const double key = keys[slot];
            const unsigned entry = entries[slot];
            keys[slot] = keys[other];
            entries[slot] = entries[other];
            keys[other] = key;
            entries[other] = entry;
          }
        }
        block_barrier();
      }
  }
#endif
};

#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__(PM_THREADS) survey(const Lists* __restrict__ given) {
  extern __shared__ double memory[];
  __shared__ Lists job;
  __shared__ double best[PM_THREADS];
  __shared__ unsigned owners[PM_THREADS], counts[6];
  if (threadIdx.x == 0) job = *given;
  __syncthreads();
  unsigned* entries = reinterpret_cast<unsigned*>(memory + job.slots);
  Surveyor surveyor{job, memory, best, entries, owners, counts, threadIdx.x, nullptr, nullptr};
  for (unsigned list = blockIdx.x; list < job.list_count; list += gridDim.x) surveyor.survey(list);
}
#elif !defined(PM_ONE_LANE)
extern "C" void survey(const Lists* given) {
  const Lists& job = *given;
  std::vector<double> keys(job.slots), best(PM_THREADS);
  std::vector<unsigned> entries(job.slots), owners(PM_THREADS), counts(6);
  auto body = [&](int lane) {
    Surveyor surveyor{job,           keys.data(),   best.data(),                 entries.data(), owners.data(),
                      counts.data(), static_cast<unsigned>(lane), nullptr, nullptr};
    for (unsigned list = 0; list < job.list_count; ++list) surveyor.survey(list);
  };
  Lanes::run(PM_THREADS, body);
}
#endif
