
/* A number of 16 bits, f16 or bf16, rounded to nearest, ties to even. */
static uint16_t small_float(double value, int exponent_bits)
{
    int mantissa_bits = 15 - exponent_bits, least = 2 - (1 << (exponent_bits - 1)), exponent;
    uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << mantissa_bits), sign;
    uint64_t bits;
    double scale, pattern;
    volatile double units;
    memcpy(&bits, &value, sizeof bits);
    sign = (uint16_t)(bits >> 63 << 15);
    bits &= UINT64_MAX >> 1;
    if (bits > (uint64_t)2047 << 52)
        return (uint16_t)(sign | infinity | 1 << (mantissa_bits - 1));
    exponent = (int)(bits >> 52) - 1023;
    if (exponent >= 1 << (exponent_bits - 1))
        return sign | infinity;
    /* Below the smallest normal number values are as far apart as just above it. */
    if (exponent < least)
        exponent = least;
    memcpy(&value, &bits, sizeof bits);
    bits = (uint64_t)(1023 + mantissa_bits - exponent) << 52;
    memcpy(&scale, &bits, sizeof bits);
    /* Where the last place of a double is 1. */
    units = value * scale + 0x1p52;
    units -= 0x1p52;
    /* A normal number has the bit of `1 << mantissa_bits`, which counts as one in the exponent. */
    pattern = (double)((int64_t)(exponent - least) << mantissa_bits) + units;
    return sign | (pattern > infinity ? infinity : (uint16_t)pattern);
}
