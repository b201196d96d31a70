import type { ErrorRequestHandler, Response } from 'express';

/**
 * Returns an Express error handler that calls `answer` for an error of an earlier handler. If the response has begun,
 * Express closes its connection instead.
 */
export function errorHandler(answer: (error: unknown, res: Response) => void): ErrorRequestHandler {
  const handler = (...[error, , res, next]: Parameters<ErrorRequestHandler>): void => {
    if (res.headersSent) next(error);
    else answer(error, res);
  };
  // Express recognises an error handler by its number of parameters.
  return Object.defineProperty(handler, 'length', { value: 4 });
}
