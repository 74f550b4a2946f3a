mod numbers;
mod random;
mod steps;
mod world;
