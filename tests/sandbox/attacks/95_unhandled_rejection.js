// about: a promise that nobody catches is an exception
// expect: exception
Promise.reject(new Error('no'))
