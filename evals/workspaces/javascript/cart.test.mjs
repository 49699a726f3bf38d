import assert from 'node:assert/strict';
import test from 'node:test';
import { total } from './cart.mjs';

test('prices add up', () => {
  assert.equal(total([1, 2, 3]), 6);
});

test('a discount is taken off', () => {
  assert.equal(total([10], 4), 6);
});
