import assert from 'node:assert/strict';
import test from 'node:test';
import { total } from '../cart.mjs';

test('a large discount makes it free', () => {
  assert.equal(total([10], 40), 0);
});
