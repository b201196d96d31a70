import { useState } from 'react';

/** Returns the names of the fields that hold no valid value, and the function by which a field reports it. */
export function useFaultyFields(): [faulty: string[], report: (name: string, isFaulty: boolean) => void] {
  const [faulty, setFaulty] = useState<string[]>([]);
  const report = (name: string, isFaulty: boolean) =>
    setFaulty((before) => [...before.filter((one) => one !== name), ...(isFaulty ? [name] : [])]);
  return [faulty, report];
}
