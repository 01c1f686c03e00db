create table payments (
  id text primary key,
  customer text not null,
  amount integer not null,
  refunded integer not null default 0
);
create table refunds (
  id integer primary key,
  payment text not null references payments,
  amount integer not null
);
create trigger books after insert on refunds begin
  update payments set refunded = refunded + new.amount where id = new.payment;
end;
insert into payments values
  ('pay-1', 'Ana', 12900, 0),
  ('pay-2', 'Ben', 4000, 4000),
  ('pay-3', 'Chloe', 799, 0);
