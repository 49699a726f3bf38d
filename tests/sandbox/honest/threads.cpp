#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <random>
#include <thread>
#include <vector>
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    for (auto &t : threads) t.join();
    auto later = std::async(std::launch::async, [] { return 3; });
    if (later.get() != 3) return 1;
    std::random_device device;
    (void)device();
    namespace fs = std::filesystem;
    fs::create_directories("deep/er");
    std::ofstream("deep/er/file") << "x";
    fs::copy("deep", "copy", fs::copy_options::recursive);
    fs::permissions("copy/er/file", fs::perms::owner_all);
    if (!fs::exists("copy/er/file") || fs::remove_all("copy") != 3) return 2;
    try { std::vector<int>().at(1); return 3; } catch (const std::out_of_range &) {}
    std::cout << "well" << std::endl;
}
