export const text: string = 'from another file';
