import type { z } from 'zod';
import { typeName } from './near-members.ts';

/**
 * Returns the rule for a value that no form of a union takes: `must be text or a list`. Undefined
 * where a form cannot be named, or where the value has the type of a form and breaks a rule inside of it.
 */
export function unionRule({ errors, message }: z.core.$ZodIssueInvalidUnion): string | undefined {
  if (message !== 'Invalid input') return undefined;
  const forms = new Set<string>();
  for (const issues of errors) {
    const form = formOf(issues);
    if (form === undefined) return undefined;
    forms.add(form);
  }
  return forms.size === 0 ? undefined : `must be ${[...forms].join(' or ')}`;
}

/** Returns the words for the form that these issues refuse. */
function formOf(issues: readonly z.core.$ZodIssue[]): string | undefined {
  const [issue, ...others] = issues;
  if (!issue || issue.path.length > 0 || others.length > 0) return undefined;
  switch (issue.code) {
    case 'invalid_type':
      return typeName(issue.expected);
    case 'invalid_value':
      return issue.values.length > 10 ? undefined : issue.values.map(String).join(' or ');
    case 'invalid_union':
      return unionRule(issue)?.slice('must be '.length);
    default:
      return undefined;
  }
}
