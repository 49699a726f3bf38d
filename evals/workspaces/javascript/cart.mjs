/** The total of a cart: prices less a discount. */
export function total(prices, discount = 0) {
  const sum = prices.reduce((a, b) => a + b, 0);
  return sum - discount;
}
