// The centroids and boundaries that TurboQuant's values are rounded with, as published: 2 to 5 bits are the
// Lloyd-Max quantizers of the unit normal, 8 bits a fit to a sample.
#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace kvern::reference {

/// Code i stands for centroids[i]; it is the number of boundaries below the number.
struct LloydMax {
  std::vector<float> centroids;
  std::vector<float> boundaries;
};

/// A symmetric table from its upper half; the first boundary is 0.
inline LloydMax symmetric(std::span<const float> centroids, std::span<const float> boundaries) {
  LloydMax table;
  for (size_t i = centroids.size(); i-- > 0;) table.centroids.push_back(-centroids[i]);
  for (const float c : centroids) table.centroids.push_back(c);
  for (size_t i = boundaries.size(); i-- > 1;) table.boundaries.push_back(-boundaries[i]);
  for (const float b : boundaries) table.boundaries.push_back(b);
  return table;
}

inline constexpr float kCentroids2[] = {
    0.45278F,
    1.51042F,
};
inline constexpr float kBoundaries2[] = {
    0.0F,
    0.98160F,
};
inline constexpr float kCentroids3[] = {
    0.24509F,
    0.75601F,
    1.34391F,
    2.15195F,
};
inline constexpr float kBoundaries3[] = {
    0.0F,
    0.50055F,
    1.04996F,
    1.74793F,
};
inline constexpr float kCentroids4[] = {
    0.12840F, 0.38805F, 0.65676F, 0.94234F, 1.25623F, 1.61805F, 2.06902F, 2.73259F,
};
inline constexpr float kBoundaries4[] = {
    0.0F, 0.25822F, 0.52240F, 0.79955F, 1.09929F, 1.43714F, 1.84353F, 2.40080F,
};
inline constexpr float kCentroids5[] = {
    0.06589F, 0.19805F, 0.33138F, 0.46670F, 0.60493F, 0.74714F, 0.89457F, 1.04878F,
    1.21180F, 1.38634F, 1.57623F, 1.78723F, 2.02873F, 2.31774F, 2.69112F, 3.26073F,
};
inline constexpr float kBoundaries5[] = {
    0.0F,     0.13197F, 0.26472F, 0.39904F, 0.53582F, 0.67603F, 0.82085F, 0.97167F,
    1.13029F, 1.29907F, 1.48128F, 1.68173F, 1.90798F, 2.17323F, 2.50443F, 2.97593F,
};
inline constexpr float kCentroids8[] = {
    -4.5057F, -4.4546F, -4.4363F, -4.4016F, -4.3632F, -4.3322F, -4.2975F, -4.2628F, -4.2281F, -4.1934F,
    -4.1587F, -4.1240F, -4.0944F, -4.0458F, -4.0026F, -4.0022F, -3.9424F, -3.9168F, -3.8863F, -3.8478F,
    -3.7989F, -3.7628F, -3.7445F, -3.7070F, -3.6746F, -3.6315F, -3.5950F, -3.5803F, -3.5400F, -3.5038F,
    -3.4672F, -3.4282F, -3.3981F, -3.3631F, -3.3275F, -3.2920F, -3.2578F, -3.2201F, -3.1930F, -3.1572F,
    -3.1118F, -3.0821F, -3.0506F, -3.0148F, -2.9802F, -2.9465F, -2.9112F, -2.8747F, -2.8412F, -2.8061F,
    -2.7717F, -2.7376F, -2.7029F, -2.6634F, -2.6304F, -2.5996F, -2.5609F, -2.5253F, -2.4948F, -2.4614F,
    -2.4240F, -2.3878F, -2.3505F, -2.3164F, -2.2824F, -2.2437F, -2.2098F, -2.1771F, -2.1447F, -2.1114F,
    -2.0787F, -2.0445F, -2.0064F, -1.9699F, -1.9301F, -1.8932F, -1.8590F, -1.8212F, -1.7849F, -1.7465F,
    -1.7103F, -1.6743F, -1.6394F, -1.6041F, -1.5708F, -1.5365F, -1.5036F, -1.4692F, -1.4351F, -1.4022F,
    -1.3689F, -1.3356F, -1.3018F, -1.2698F, -1.2355F, -1.2012F, -1.1665F, -1.1305F, -1.0959F, -1.0614F,
    -1.0275F, -0.9940F, -0.9609F, -0.9274F, -0.8929F, -0.8593F, -0.8261F, -0.7937F, -0.7588F, -0.7230F,
    -0.6871F, -0.6518F, -0.6163F, -0.5812F, -0.5463F, -0.5111F, -0.4751F, -0.4394F, -0.4050F, -0.3698F,
    -0.3341F, -0.2992F, -0.2647F, -0.2317F, -0.2001F, -0.1672F, -0.1341F, -0.1003F, -0.0657F, -0.0313F,
    0.0043F,  0.0404F,  0.0745F,  0.1076F,  0.1404F,  0.1743F,  0.2081F,  0.2430F,  0.2780F,  0.3149F,
    0.3509F,  0.3874F,  0.4223F,  0.4569F,  0.4913F,  0.5257F,  0.5586F,  0.5910F,  0.6250F,  0.6595F,
    0.6943F,  0.7278F,  0.7625F,  0.7964F,  0.8310F,  0.8644F,  0.8981F,  0.9320F,  0.9666F,  1.0007F,
    1.0344F,  1.0681F,  1.1019F,  1.1356F,  1.1707F,  1.2039F,  1.2389F,  1.2744F,  1.3102F,  1.3441F,
    1.3770F,  1.4092F,  1.4425F,  1.4770F,  1.5128F,  1.5482F,  1.5839F,  1.6193F,  1.6554F,  1.6925F,
    1.7273F,  1.7619F,  1.7986F,  1.8350F,  1.8712F,  1.9062F,  1.9427F,  1.9807F,  2.0165F,  2.0498F,
    2.0836F,  2.1193F,  2.1556F,  2.1898F,  2.2249F,  2.2573F,  2.2944F,  2.3309F,  2.3646F,  2.3981F,
    2.4336F,  2.4673F,  2.5034F,  2.5358F,  2.5712F,  2.6070F,  2.6403F,  2.6731F,  2.7095F,  2.7453F,
    2.7795F,  2.8146F,  2.8518F,  2.8853F,  2.9197F,  2.9550F,  2.9876F,  3.0215F,  3.0617F,  3.1023F,
    3.1455F,  3.1724F,  3.2052F,  3.2378F,  3.2675F,  3.3014F,  3.3345F,  3.3696F,  3.4069F,  3.4420F,
    3.4637F,  3.5025F,  3.5508F,  3.5749F,  3.6047F,  3.6402F,  3.6927F,  3.7174F,  3.7488F,  3.7979F,
    3.8167F,  3.8566F,  3.8908F,  3.9217F,  3.9740F,  4.0090F,  4.0296F,  4.0796F,  4.0990F,  4.1337F,
    4.1727F,  4.1984F,  4.2378F,  4.2725F,  4.3072F,  4.3419F,
};

/// 2, 3, 4, 5 or 8 bits.
inline const LloydMax& lloyd_max(int bits) {
  static const LloydMax two = symmetric(kCentroids2, kBoundaries2);
  static const LloydMax three = symmetric(kCentroids3, kBoundaries3);
  static const LloydMax four = symmetric(kCentroids4, kBoundaries4);
  static const LloydMax five = symmetric(kCentroids5, kBoundaries5);
  static const LloydMax eight = [] {
    LloydMax table{{std::begin(kCentroids8), std::end(kCentroids8)}, {}};
    for (size_t i = 0; i + 1 < table.centroids.size(); ++i) {
      const double sum =
          static_cast<double>(table.centroids[i]) + static_cast<double>(table.centroids[i + 1]);
      table.boundaries.push_back(static_cast<float>(sum / 2.0));
    }
    return table;
  }();
  return bits == 2 ? two : bits == 3 ? three : bits == 4 ? four : bits == 5 ? five : eight;
}

}  // namespace kvern::reference
