/* The kernels of a step, in C99 that C++ reads too. A plan of calls to them is run by RealTimeStep (export/real_time_step.h),
   or printed into a C header together with those that it calls (export/c_header.h). So each equation stands here once.

   Between two empty lines stands one function. Its parameters are sizes, then numbers, then arrays, the written one first. No
   array may overlap another one of the call. Matrices are stored input by input, [in][out], so that the inner loops go over
   outputs and vectorise without reordering a sum. */
#ifndef UNROLL_STEP_KERNELS_H
#define UNROLL_STEP_KERNELS_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__GNUC__)
#define UNROLL_STEP static inline __attribute__((always_inline))
#define UNROLL_RESTRICT __restrict
#else
#define UNROLL_STEP static inline
#define UNROLL_RESTRICT
#endif
/* clang-format off */

/* y = 0 */
UNROLL_STEP void unroll_zero(int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = 0.0f;
}

/* y = x */
UNROLL_STEP void unroll_copy(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i] = x[i];
}

/* y[i step] = x[i x_step] */
UNROLL_STEP void unroll_move(int n, int step, int x_step, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i * step] = x[i * x_step];
}

/* y[i step] += x[i] */
UNROLL_STEP void unroll_add_apart(int n, int step, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i * step] += x[i];
}

/* y += x */
UNROLL_STEP void unroll_add(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i] += x[i];
}

/* y -= x */
UNROLL_STEP void unroll_subtract(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i] -= x[i];
}

/* y *= x */
UNROLL_STEP void unroll_multiply(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i] *= x[i];
}

/* y += a b */
UNROLL_STEP void unroll_multiply_add(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT a, const float* UNROLL_RESTRICT b) {
  for (int i = 0; i < n; ++i) y[i] += a[i] * b[i];
}

/* y = factor y */
UNROLL_STEP void unroll_scale(int n, float factor, float* y) {
  for (int i = 0; i < n; ++i) y[i] *= factor;
}

/* y = 1 - x */
UNROLL_STEP void unroll_one_minus(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i] = 1.0f - x[i];
}

/* y = z y + (1 - z) x */
UNROLL_STEP void unroll_mix(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT z, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i] = z[i] * y[i] + (1.0f - z[i]) * x[i];
}

/* y = (1 - rate) y + rate before */
UNROLL_STEP void unroll_carry(int n, float rate, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT before) {
  for (int i = 0; i < n; ++i) y[i] = (1.0f - rate) * y[i] + rate * before[i];
}

/* y between -limit and limit */
UNROLL_STEP void unroll_clip(int n, float limit, float* y) {
  for (int i = 0; i < n; ++i) {
    const float least = y[i] < -limit ? -limit : y[i];
    y[i] = least > limit ? limit : least;
  }
}

/* y += W x */
UNROLL_STEP void unroll_product(int in, int out, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x, const float* UNROLL_RESTRICT w) {
  int i = 0;
  for (; i + 4 <= in; i += 4, w += 4 * out) {
    const float a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
    for (int k = 0; k < out; ++k)
      y[k] += (w[k] * a + w[out + k] * b) + (w[2 * out + k] * c + w[3 * out + k] * d);
  }
  for (; i < in; ++i, w += out) {
    const float a = x[i];
    for (int k = 0; k < out; ++k) y[k] += w[k] * a;
  }
}

/* y += W x, where W is q times a scale for each output */
UNROLL_STEP void unroll_product_8bit(int in, int out, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x, const int8_t* UNROLL_RESTRICT q, const float* UNROLL_RESTRICT scale) {
  int i = 0;
  for (; i + 4 <= in; i += 4, q += 4 * out) {
    const float a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
    for (int k = 0; k < out; ++k)
      y[k] += scale[k] * (((float)q[k] * a + (float)q[out + k] * b) + ((float)q[2 * out + k] * c + (float)q[3 * out + k] * d));
  }
  for (; i < in; ++i, q += out) {
    const float a = x[i];
    for (int k = 0; k < out; ++k) y[k] += scale[k] * ((float)q[k] * a);
  }
}

/* y = column `which` of W [in][out] */
UNROLL_STEP void unroll_column(int in, int out, int which, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT w) {
  for (int i = 0; i < in; ++i) y[i] = w[i * out + which];
}

/* y = column `which` of W [in][out], where W is q times a scale for each output */
UNROLL_STEP void unroll_column_8bit(int in, int out, int which, float* UNROLL_RESTRICT y, const int8_t* UNROLL_RESTRICT q, const float* UNROLL_RESTRICT scale) {
  for (int i = 0; i < in; ++i) y[i] = scale[which] * (float)q[i * out + which];
}

/* x between -limit and limit; NaN stays. Compares whole numbers, as compilers put no branch on floats side by side */
UNROLL_STEP float unroll_within(float x, float limit) {
  int32_t bits, most;
  memcpy(&bits, &x, sizeof bits);
  memcpy(&most, &limit, sizeof most);
  const int32_t size = bits & 0x7fffffff, sign = bits ^ size, least = size > most ? most : size;
  bits = sign | (size > 0x7f800000 ? size : least);
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Returns p, and 2^k in `power`: e^x = power + power p, x between -87 and 87. p is e^r - 1 of the rest r, |r| <= log(2)/2, by its
   Taylor series, whose eighth term is below half a unit of the last place. Adding 1.5 * 2^23 rounds to a whole number, which then
   stands in the last bits: it is read there, since -ffast-math would take the sum and a difference away together. */
UNROLL_STEP float unroll_exp_parts(float x, float* power) {
  const float shifted = x * 1.44269504f + 12582912.0f;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  const float k = (float)((int32_t)(bits & 0x7fffffu) - 0x400000), r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  bits = (bits + 127u) << 23;
  memcpy(power, &bits, sizeof bits);
  return r + r * r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040))))));
}

/* y = 1 / (1 + e^-y) */
UNROLL_STEP void unroll_sigmoid(int n, float* y) {
  for (int i = 0; i < n; ++i) {
    float power;
    const float p = unroll_exp_parts(-unroll_within(y[i], 87.0f), &power);
    y[i] = 1.0f / (1.0f + (power + power * p));
  }
}

/* y = tanh y = (e^2y - 1) / (e^2y + 1) */
UNROLL_STEP void unroll_tanh(int n, float* y) {
  for (int i = 0; i < n; ++i) {
    float power;
    const float p = unroll_exp_parts(2.0f * unroll_within(y[i], 10.0f), &power), less_one = power * p + (power - 1.0f);
    y[i] = less_one / (less_one + 2.0f);
  }
}

/* y = max(y, 0) */
UNROLL_STEP void unroll_relu(int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

/* y = y/6 + 1/2 between 0 and 1 */
UNROLL_STEP void unroll_hard_sigmoid(int n, float* y) {
  for (int i = 0; i < n; ++i) {
    const float x = y[i] * (1.0f / 6) + 0.5f, least = x < 0.0f ? 0.0f : x;
    y[i] = least > 1.0f ? 1.0f : least;
  }
}

/* y between -1 and 1 */
UNROLL_STEP void unroll_hard_tanh(int n, float* y) {
  for (int i = 0; i < n; ++i) {
    const float least = y[i] < -1.0f ? -1.0f : y[i];
    y[i] = least > 1.0f ? 1.0f : least;
  }
}

/* y = y / (1 + |y|) */
UNROLL_STEP void unroll_softsign(int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = y[i] / (1.0f + (y[i] < 0.0f ? -y[i] : y[i]));
}

/* y = y (1 + erf(y / sqrt 2)) / 2 */
UNROLL_STEP void unroll_gelu(int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = y[i] * (0.5f + 0.5f * erff(y[i] * 0.707106781f));
}

/* y = log(1 + e^y) */
UNROLL_STEP void unroll_softplus(int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = (y[i] < 0.0f ? 0.0f : y[i]) + log1pf(expf(-fabsf(y[i])));
}

/* y = gain (y - mean) / sqrt(variance + epsilon) */
UNROLL_STEP void unroll_norm(int n, float epsilon, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT gain) {
  float sum = 0.0f, squares = 0.0f;
  for (int i = 0; i < n; ++i) sum += y[i];
  const float mean = sum / (float)n;
  for (int i = 0; i < n; ++i) squares += (y[i] - mean) * (y[i] - mean);
  const float factor = 1.0f / sqrtf(squares / (float)n + epsilon);
  for (int i = 0; i < n; ++i) y[i] = (y[i] - mean) * factor * gain[i];
}

/* y = e^y / sum of e^y */
UNROLL_STEP void unroll_softmax(int n, float* y) {
  float most = y[0], sum = 0.0f;
  for (int i = 1; i < n; ++i) most = y[i] > most ? y[i] : most;
  for (int i = 0; i < n; ++i) {
    float power;
    const float p = unroll_exp_parts(unroll_within(y[i] - most, 87.0f), &power);
    y[i] = power + power * p;
  }
  for (int i = 0; i < n; ++i) sum += y[i];
  for (int i = 0; i < n; ++i) y[i] /= sum;
}

/* y += share x, of one share */
UNROLL_STEP void unroll_add_share(int n, float* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT share, const float* UNROLL_RESTRICT x) {
  for (int i = 0; i < n; ++i) y[i] += share[0] * x[i];
}

/* y = log y */
UNROLL_STEP void unroll_log(int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = logf(y[i]);
}

/* y[t step] = (x[t step] - shift) / scale, of the series `which`; with is_log of log x */
UNROLL_STEP void unroll_scaled(int n, int step, int which, int is_log, float* UNROLL_RESTRICT y, const double* UNROLL_RESTRICT x, const double* UNROLL_RESTRICT shift, const double* UNROLL_RESTRICT scale) {
  for (int t = 0; t < n * step; t += step) y[t] = (float)(((is_log ? log(x[t]) : x[t]) - shift[which]) / scale[which]);
}

/* y[t step] = scale x[t step] + shift, of the series `which`, with is_log e^that; between both ends */
UNROLL_STEP void unroll_in_units(int n, int step, int which, int is_log, double* UNROLL_RESTRICT y, const float* UNROLL_RESTRICT x, const double* UNROLL_RESTRICT shift, const double* UNROLL_RESTRICT scale, const double* UNROLL_RESTRICT ends) {
  for (int t = 0; t < n * step; t += step) {
    const double z = (double)x[t] * scale[which] + shift[which], value = is_log ? exp(z) : z;
    y[t] = value < ends[0] ? ends[0] : value > ends[1] ? ends[1] : value;
  }
}

/* Of y [rows][columns] the first `some` columns, less their mean over the first `window` rows, over their deviation there */
UNROLL_STEP void unroll_standardize(int rows, int columns, int some, int window, float* UNROLL_RESTRICT y, float* UNROLL_RESTRICT mean, float* UNROLL_RESTRICT deviation) {
  for (int k = 0; k < some; ++k) {
    double sum = 0.0, squares = 0.0;
    for (int t = 0; t < window; ++t) sum += (double)y[t * columns + k];
    const double m = sum / window;
    for (int t = 0; t < window; ++t) squares += ((double)y[t * columns + k] - m) * ((double)y[t * columns + k] - m);
    const double s = sqrt(squares / window + 1e-5);
    for (int t = 0; t < rows; ++t) y[t * columns + k] = (float)(((double)y[t * columns + k] - m) / s);
    mean[k] = (float)m, deviation[k] = (float)s;
  }
}

/* y [several][n] in ascending order for each of n */
UNROLL_STEP void unroll_sort(int several, int n, float* y) {
  for (int i = 0; i < n; ++i)
    for (int k = 1; k < several; ++k)
      for (int j = k; j > 0 && y[j * n + i] < y[(j - 1) * n + i]; --j) {
        const float other = y[j * n + i];
        y[j * n + i] = y[(j - 1) * n + i], y[(j - 1) * n + i] = other;
      }
}

/* Keeps a step's key and value in rings of `places`. past: the next place, and how many are kept */
UNROLL_STEP void unroll_remember(int dim, int places, float* UNROLL_RESTRICT keys, float* UNROLL_RESTRICT values, const float* key, const float* value, const float* past) {
  const int at = (int)past[0] % places;
  for (int i = 0; i < dim; ++i) keys[at * dim + i] = key[i], values[at * dim + i] = value[i];
}

/* After a step all layers have remembered */
UNROLL_STEP void unroll_advance(int places, float* past) {
  past[0] = past[0] + 1.0f < (float)places ? past[0] + 1.0f : 0.0f;
  past[1] = past[1] + 1.0f < (float)places ? past[1] + 1.0f : (float)(places - 1);
}

/* y = attention of a query over the past and the step itself, by head; scores fall with the distance (Press, Smith and Lewis 2022) */
UNROLL_STEP void unroll_attend(int heads, int dim, int places, float* UNROLL_RESTRICT y, float* UNROLL_RESTRICT scores, const float* query, const float* keys, const float* values, const float* past) {
  const int width = dim / heads, count = (int)past[1] + 1;
  const float scale = 1.0f / sqrtf((float)width);
  for (int h = 0; h < heads; ++h) {
    const float slope = exp2f(-8.0f * (float)(h + 1) / (float)heads);
    float most = 0.0f, sum = 0.0f;
    for (int d = 0; d < count; ++d) {
      const float* const key = keys + (((int)past[0] - d + places) % places) * dim + h * width;
      float product = 0.0f;
      for (int i = 0; i < width; ++i) product += query[h * width + i] * key[i];
      scores[d] = scale * product - slope * (float)d;
      most = d == 0 || scores[d] > most ? scores[d] : most;
    }
    for (int i = 0; i < width; ++i) y[h * width + i] = 0.0f;
    for (int d = 0; d < count; ++d) {
      const float* const value = values + (((int)past[0] - d + places) % places) * dim + h * width;
      const float weight = expf(scores[d] - most);
      sum += weight;
      for (int i = 0; i < width; ++i) y[h * width + i] += weight * value[i];
    }
    for (int i = 0; i < width; ++i) y[h * width + i] /= sum;
  }
}

/* clang-format on */
#endif
