// The doors: a kernel for a grid of blocks that stay until the queue is empty, and the same for one group on the host.

#if defined(__CUDACC__)

// The queue as one warp sees it: some paths that it has taken for its lanes already, so that few ask the counter all share.
struct Queue {
  static constexpr unsigned kTaken = 32 / PM_GROUP;
  unsigned* next;
  unsigned first = 0, left = 0;

  // A path for every group that wants one; all lanes of the warp ask together.
  PM_DEVICE unsigned take(bool wants) {
    const unsigned lane = threadIdx.x % 32, leader = lane & (32u - PM_GROUP);
    const unsigned wanting = __ballot_sync(0xffffffffu, wants && lane == leader);
    const unsigned count = __popc(wanting), before = __popc(wanting & ((1u << leader) - 1u));
    if (count <= left) {
      const unsigned turn = first + before;
      first += count;
      left -= count;
      return turn;
    }
    unsigned more = 0;
    if (lane == 0) more = add_to(next, kTaken);
    more = __shfl_sync(0xffffffffu, more, 0);
    const unsigned turn = before < left ? first + before : more + before - left;
    first = more + count - left;
    left += kTaken - count;
    return turn;
  }
};

// Whether a lane of the block, or of the warp where warps go their own ways, has work to do.
PM_DEVICE bool any_of_us(bool busy) {
#if PM_IN_STEP
  return __syncthreads_or(busy);
#else
  return __any_sync(0xffffffffu, busy);
#endif
}

#if PM_ARGUMENT_COEFFICIENTS
struct Numbers {
  alignas(16) double of_tape[(PM_COEFFICIENTS + 1) / 2 * 2];
};
#define PM_NUMBERS_OF_TAPE , const __grid_constant__ Numbers numbers
#else
#define PM_NUMBERS_OF_TAPE
#endif

extern "C" __global__ void __launch_bounds__(PM_THREADS, PM_BLOCKS) follow(const Job* __restrict__ given PM_NUMBERS_OF_TAPE) {
  extern __shared__ Complex shared[];
  __shared__ Job job;
  if (threadIdx.x == 0) job = *given;
  __syncthreads();
  const double* coefficients = job.coefficients;
#if PM_SHARED_COEFFICIENTS
  double* copy = reinterpret_cast<double*>(shared + PM_NUMBERS * PM_THREADS);
  for (int i = threadIdx.x; i < PM_COEFFICIENTS; i += PM_THREADS) copy[i] = coefficients[i];
  __syncthreads();
  coefficients = copy;
#elif PM_ARGUMENT_COEFFICIENTS
  coefficients = numbers.of_tape;
#endif
  Follower follower{job};
  follower.path.coefficients = coefficients;
  follower.path.begin = job.begin;
  follower.path.target = job.targets;
#if PM_GROUP == 1
  follower.path.memory = shared + threadIdx.x;
  follower.path.stride = PM_THREADS;
#else
  follower.path.lane = threadIdx.x % PM_GROUP;
  follower.path.file = shared + (threadIdx.x / PM_GROUP) * PM_NUMBERS;
  place_constants(follower.path.file, coefficients, follower.path.lane);
#endif
  Queue queue{job.next};
  follower.take_next(queue.take(true));
  while (any_of_us(follower.busy)) {
    double correction;
    const int end = follower.advance(correction);
    const bool ended = follower.busy && end != kGoesOn;
    if (ended) follower.give_back(end, correction);
    if (__any_sync(0xffffffffu, ended)) {
      const unsigned turn = queue.take(ended);
      if (ended) follower.take_next(turn);
    }
  }
}

#else

extern "C" void follow(const Job* given) {
  const Job& job = *given;
  std::vector<Complex> shared(PM_NUMBERS, Complex{0.0, 0.0});
  auto body = [&](int lane) {
    Follower follower{job};
    follower.path.coefficients = job.coefficients;
    follower.path.begin = job.begin;
    follower.path.target = job.targets;
#if PM_GROUP == 1
    follower.path.memory = shared.data() + lane;
    follower.path.stride = 1;
#else
    this_lane = lane;
    follower.path.lane = lane;
    follower.path.file = shared.data();
    place_constants(follower.path.file, job.coefficients, lane);
#endif
    // One group, so every lane knows whose turn it is without asking.
    for (unsigned next = 0; next < job.path_count; ++next) {
      follower.take_next(next);
      int end = kGoesOn;
      double correction = 0.0;
      while (end == kGoesOn) end = follower.advance(correction);
      follower.give_back(end, correction);
    }
  };
#if PM_GROUP == 1
  body(0);
#else
  Lanes::run(PM_GROUP, body);
#endif
}

#endif
