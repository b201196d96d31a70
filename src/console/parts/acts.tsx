import { Alert, Button, Group, Modal, Stack, Text, type ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { queries } from '../queries.ts';
import { ErrorNotice } from './error-notice.tsx';
import { Copy } from './values.tsx';

/** A change through the API. Afterwards everything that the page shows is read again. */
export function useAct<Given = void, Made = unknown>(
  call: (given: Given) => Promise<Made>,
  /** Shown when it is done. */
  done?: string,
) {
  return useMutation({
    mutationFn: call,
    onSuccess: () => {
      if (done) notifications.show({ message: done, color: 'green' });
      void queries.invalidateQueries({ predicate: ({ meta }) => meta?.['topics'] !== undefined });
    },
  });
}

interface ConfirmDialogProps {
  /** The question. */
  title: string;
  /** The consequence in words. */
  children: ReactNode;
  /** The text of the button that agrees. */
  label: string;
  run: () => Promise<unknown>;
  /** Shown when it is done. */
  done?: string | undefined;
  /** Whether the act cannot be undone or stops something. */
  dangerous?: boolean;
  isOpen: boolean;
  close: () => void;
}

/** A dialog that runs an act only after the person agreed. If the API refuses the act, the dialog stays open and shows why. */
export function ConfirmDialog({
  title,
  children,
  label,
  run,
  done,
  dangerous = false,
  isOpen,
  close,
}: ConfirmDialogProps) {
  const act = useAct(run, done);
  const leave = () => {
    act.reset();
    close();
  };
  return (
    <Modal opened={isOpen} onClose={leave} title={title} centered>
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        {act.isError && <ErrorNotice title="This was not done" error={act.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={leave}>
            Keep it as it is
          </Button>
          <Button
            data-autofocus
            loading={act.isPending}
            {...(dangerous ? { color: 'red.8' } : {})}
            onClick={() => act.mutate(undefined, { onSuccess: leave })}
          >
            {label}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

type ConfirmButtonProps = Omit<ConfirmDialogProps, 'isOpen' | 'close'> &
  Pick<ButtonProps, 'size' | 'variant' | 'disabled' | 'leftSection'>;

/** A button that asks before it acts. */
export function ConfirmButton({
  label,
  title,
  children,
  run,
  done,
  dangerous = false,
  ...button
}: ConfirmButtonProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" {...button} onClick={open}>
        {label}
      </Button>
      <ConfirmDialog {...{ title, label, run, done, dangerous, isOpen, close }}>{children}</ConfirmDialog>
    </>
  );
}

/** A secret that can be read only now, with a button that copies it. */
export function SecretOnce({
  label,
  value,
  children,
}: {
  label: string;
  value: string;
  children?: ReactNode;
}) {
  return (
    <Alert variant="light" color="orange" title={label}>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <span className="mono">{value}</span>
        <Copy text={value} label="Copy the secret" />
      </Group>
      <Text size="sm" mt={6}>
        Copy it now. It is not shown again. {children}
      </Text>
    </Alert>
  );
}

/** A dialog that shows a secret once. Only its button closes it, so that a stray click does not lose the secret. */
export function SecretDialog({
  secret,
  close,
  title,
  children,
}: {
  secret: string | undefined;
  close: () => void;
  title: string;
  children?: ReactNode;
}) {
  return (
    <Modal
      opened={secret !== undefined}
      onClose={close}
      title={title}
      centered
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <SecretOnce label="The secret" value={secret ?? ''}>
          {children}
        </SecretOnce>
        <Group justify="flex-end">
          <Button onClick={close}>I have copied it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Returns a secret that is shown until the person closes it, and the functions that show and close it. */
export function useSecret(): [string | undefined, (secret: string) => void, () => void] {
  const [secret, setSecret] = useState<string>();
  return [secret, setSecret, () => setSecret(undefined)];
}
